import ImgClient
import ImgModel
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

/// Coordinators that the gateway starts.
@Suite(.timeLimit(.minutes(2)))
struct CoordinatorStartTests {
  @Test func `a coordinator that is started for one that died has its settings`() async throws {
    let fixture = try GatewayFixture(
      [], ["ALLOW_NETWORK": "", "AUTOSTART": "yes"],
      coordinatorArguments: ["--allow-network", "127.0.0.0/8", "--backoff", "7s"])
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture) }
    #expect(try await fixture.image("/a").status == 200)
    let first = try fixture.cluster.client().status()
    try fixture.cluster.killCoordinator()
    #expect(try await fixture.image("/b").status == 200)
    let second = try fixture.cluster.client().status()
    #expect(second.processID != first.processID)
    #expect(second.settings == first.settings)
    #expect(second.limits == first.limits)
  }

  @Test func `a coordinator of another store leaves no settings behind`() async throws {
    let other = try TestDirectory()
    let fixture = try GatewayFixture(
      [], ["AUTOSTART": "yes"], coordinatorArguments: ["--data-dir", other.file("data")])
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture) }
    #expect(try await fixture.image("/a").status == 503)
    try fixture.cluster.killCoordinator()
    #expect(try await fixture.image("/a").status == 200)
    #expect(try fixture.cluster.client().status().dataDirectory == fixture.cluster.dataDirectory)
  }
}
