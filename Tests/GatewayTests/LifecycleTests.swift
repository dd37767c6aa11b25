import Glibc
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

/// Ends and new starts of the gateway and of its coordinator.
@Suite(.timeLimit(.minutes(2)))
struct LifecycleTests {
  private let fixture: GatewayFixture

  init() throws {
    fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture, delivery: .hold))
  }

  /// A client that waits for a picture that the origin holds back.
  private func waitingClient() throws -> RawClient {
    let client = try fixture.gateway.connect()
    try client.request(fixture.target("/a"))
    try #require(fixture.origin.waitUntil(seconds: 20) { $0["/a"].inFlight == 1 })
    return client
  }

  @Test func `requests under way finish before the gateway ends`() async throws {
    var client = try waitingClient()
    #expect(try fixture.gateway.beginStop() == "STOPPING=1\nSTATUS=finishing requests")
    fixture.origin.release("/a")
    #expect(try await client.receive().status == 200)
    #expect(try fixture.gateway.run.wait(atMost: .seconds(20)).exitCode == 0)
  }

  @Test(arguments: [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT"), (SIGHUP, "SIGHUP")])
  func `a signal ends the gateway, and the log names it`(signal: CInt, name: String) throws {
    #expect(try fixture.gateway.beginStop(signal) == "STOPPING=1\nSTATUS=finishing requests")
    let result = try fixture.gateway.run.wait(atMost: .seconds(20))
    #expect(result.exitCode == 0)
    #expect(result.messages.contains("imggateway: stopping after \(name)\n"))
  }

  @Test func `a gateway of nohup goes on after its terminal has closed`() async throws {
    let command = [
      "nohup", try Programs.path(of: "imggateway"), "--listen", "127.0.0.1:0", "--json",
    ]
    let run = try ProgramRun(
      "/usr/bin/env", command, environment: fixture.cluster.environment,
      in: fixture.cluster.directory)
    let deadline = ContinuousClock.now + RawClient.patience
    while try run.lines().isEmpty { try #require(ContinuousClock.now < deadline) }
    run.signal(SIGHUP)
    run.signal(SIGTERM)
    #expect(try run.wait(atMost: .seconds(20)).messages.contains("stopping after SIGTERM\n"))
  }

  @Test func `a second signal ends the gateway without its requests`() throws {
    let client = try waitingClient()
    _ = try fixture.gateway.beginStop()
    fixture.gateway.run.signal(GatewayProcess.terminate)
    // Less than requests under way have after the first signal.
    #expect(try fixture.gateway.run.wait(atMost: .seconds(8)).exitCode == 0)
    client.endSending()
    #expect(fixture.origin.waitUntil(seconds: 20) { $0["/a"].aborted == 1 })
  }

  @Test func `requests that wait while the coordinator restarts are answered`() async throws {
    var client = try waitingClient()
    try fixture.cluster.killCoordinator()
    try fixture.cluster.start()
    fixture.origin.release("/a")
    #expect(try await client.receive().status == 200)
  }

  @Test func `the gateway says why it is not ready`() async throws {
    try await waitUntilReady()
    try fixture.cluster.killCoordinator()
    let response = try await fixture.gateway.response("/ready")
    #expect(response.status == 503)
    #expect(response.text.contains("coordinator"))
    #expect(try await fixture.gateway.response("/health").status == 200)
    try fixture.cluster.start()
    try await waitUntilReady()
  }

  /// Workers become ready after the coordinator listens.
  private func waitUntilReady() async throws {
    let deadline = ContinuousClock.now + RawClient.patience
    while try await fixture.gateway.response("/ready").status != 200 {
      try #require(ContinuousClock.now < deadline)
    }
  }
}
