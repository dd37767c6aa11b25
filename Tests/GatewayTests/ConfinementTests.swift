import ImgSystem
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

/// What the gateway gives up before its first request.
@Suite(.timeLimit(.minutes(2)))
struct ConfinementTests {
  @Test(arguments: ["no", "yes"])
  func `the gateway is confined, and says so`(autostart: String) async throws {
    let fixture = try GatewayFixture([], ["AUTOSTART": autostart])
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture) }
    #expect(try await fixture.image("/a").status == 200)
    let status = try FileIO.contents(
      of: "/proc/\(fixture.gateway.run.processID)/status", upTo: 1 << 16)
    let fields = String(decoding: status, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: "\t") }.filter { $0.count == 2 }
    func field(_ name: String) -> Substring? { fields.first { $0[0] == name }?[1] }
    #expect(field("NoNewPrivs:") == "1")
    #expect(field("Seccomp:") == "2")
    // Of root's, CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (capabilities(7)).
    let capabilities = try #require(field("CapEff:").flatMap { UInt64($0, radix: 16) })
    #expect(capabilities & ~0b110 == 0)
    #expect(try fixture.gateway.run.messages().contains("imggateway: sandbox: seccomp, "))
  }

  @Test func `a confined gateway removes the socket that it listens at`() async throws {
    let cluster = try Cluster(["AUTOSTART": "no"], isStarted: false)
    let path = cluster.directory.file("listen.sock")
    let gateway = try GatewayProcess(cluster, listen: "unix:\(path)")
    #expect(try await gateway.response("/health").status == 200)
    _ = try gateway.beginStop()
    #expect(try gateway.run.wait(atMost: .seconds(20)).exitCode == 0)
    #expect(throws: SystemError.self) { try FileStatus(at: path) }
  }
}
