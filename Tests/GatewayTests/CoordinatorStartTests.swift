import Glibc
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

  @Test func `what starts coordinators ends with the gateway, however that ends`() throws {
    let fixture = try GatewayFixture([], ["AUTOSTART": "yes"])
    let starter = try starter(of: fixture)
    fixture.gateway.run.signal(SIGKILL)
    #expect(try starter.hasEnded())
  }

  @Test func `without what starts coordinators, a gateway uses those that others start`()
    async throws
  {
    let fixture = try GatewayFixture([], ["AUTOSTART": "yes"])
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture) }
    let starter = try starter(of: fixture)
    starter.signal(SIGKILL)
    #expect(try starter.hasEnded())
    #expect(try await fixture.image("/a").status == 200)
    try fixture.cluster.killCoordinator()
    #expect(try await fixture.image("/b").status == 503)
    #expect(
      try fixture.gateway.run.messages().contains(
        "imggateway: the process that starts coordinators for this one has ended"))
    try fixture.cluster.start()
    #expect(try await fixture.image("/b").status == 200)
  }

  private func starter(of fixture: GatewayFixture) throws -> WatchedProcess {
    let children = childProcessIDs(of: fixture.gateway.run.processID)
    #expect(children.count == 1)
    return try #require(children.first.flatMap(WatchedProcess.init))
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
