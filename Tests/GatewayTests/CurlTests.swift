import ImgHTTP
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

/// What curl makes of the answers.
@Suite(.timeLimit(.minutes(2)))
struct CurlTests {
  @Test func `curl fetches a picture that it has only if the one it has is older`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let directory = fixture.cluster.directory
    guard case .tcp(let host, let port) = fixture.gateway.address else {
      Issue.record("\(fixture.gateway.address)")
      return
    }
    let url = "http://\(host):\(port)\(fixture.target("/a"))"
    let file = directory.file("a")
    func status(_ options: String...) throws -> String {
      let arguments = ["--http1.1", "-sS", "-w", "%{http_code} %{size_download}"] + options + [url]
      let result = try ProgramRun(
        "/usr/bin/curl", arguments, environment: [:], in: directory
      ).wait()
      #expect(result.exitCode == 0, "\(result.messages)")
      return result.output
    }

    let count = try await fixture.image("/a").body.count
    // The file gets the date of Last-Modified.
    #expect(try status("-R", "-o", file) == "200 \(count)")
    #expect(try status("-z", file, "-o", directory.file("b")) == "304 0")
    #expect(try status("-z", "2001-01-01", "-o", file) == "200 \(count)")
    // The entity tag of the last answer.
    let tags = directory.file("tags")
    #expect(try status("--etag-save", tags, "-o", file) == "200 \(count)")
    #expect(try status("--etag-compare", tags, "-o", directory.file("b")) == "304 0")
    // curl itself tells 304 when the picture of a 200 is not newer.
    let unchanged = "imgctl_gateway_requests_total{route=\"image\",status=\"304\"}"
    #expect(try await fixture.gateway.metric(unchanged) == 2)
  }
}
