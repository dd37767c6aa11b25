import TestCluster
import TestHTTP
import Testing

/// A gateway without a cluster.
@Suite(.timeLimit(.minutes(2)))
struct MockTests {
  @Test func `pictures and a job are there without a coordinator`() async throws {
    let cluster = try Cluster(["AUTOSTART": "no"], isStarted: false)
    let gateway = try GatewayProcess(cluster, ["--mock"])
    let picture = try await gateway.response("/image?url=https://mock.example/1.png&w=300")
    #expect(picture.status == 200)
    #expect(picture["Content-Type"] == "image/png")
    #expect(picture.body.prefix(4) == [0x89, 0x50, 0x4E, 0x47])
    let missing = try await gateway.response("/image?url=https://mock.example/24.png")
    #expect(missing.status == 404)
    #expect(try await gateway.response("/ready").status == 200)
    let page = try await gateway.response("/")
    #expect(page.status == 200)
    // It ends with the job.
    let events = try await gateway.response("/api/jobs/1/events").text
    #expect(events.contains(#""failed":4"#), "\(events)")
    let list = try await gateway.response("/v2/list?job=1&limit=100").text
    #expect(list.contains(#""id":"1-0""#), "\(list)")
  }
}
