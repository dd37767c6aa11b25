import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
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

  @Test func `the gateway says why it is not ready`() async throws {
    try await waitUntilReady()
    try fixture.cluster.killCoordinator()
    let response = try await fixture.gateway.response("/ready")
    #expect(response.status == 503)
    #expect(response.text.contains("coordinator"))
    #expect(response.text.contains("; start it with imgctl start, or its service"))
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
    let first = try fixture.cluster.client().answer(.status)
    try fixture.cluster.killCoordinator()
    #expect(try await fixture.image("/b").status == 200)
    let second = try fixture.cluster.client().answer(.status)
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

  @Test func `without what starts coordinators, a gateway uses those of others`() async throws {
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

  @Test func `stop names a connected gateway, whose log tells why it starts no coordinator`()
    async throws
  {
    let fixture = try GatewayFixture([], ["AUTOSTART": "yes"])
    let (picture, cluster) = (fixture.picture, fixture.cluster)
    fixture.origin.fallback = { _, _ in .body(picture) }
    #expect(try await fixture.image("/a").status == 200)
    let stop = try cluster.imgctl("stop")
    #expect(
      stop.messages.contains(
        "the gateway (process \(fixture.gateway.run.processID)) goes on, and starts a coordinator when it needs one"
      ), "\(stop.messages)")
    try FileManager.default.moveItem(
      atPath: cluster.dataDirectory, toPath: cluster.dataDirectory + "-moved")
    for _ in 1...2 { #expect(try await fixture.image("/b").status == 503) }
    let reason = "imggateway: no coordinator was started: the data directory "
    #expect(try fixture.gateway.run.messages().components(separatedBy: reason).count == 2)
  }

  private func starter(of fixture: GatewayFixture) throws -> WatchedProcess {
    let children = childProcessIDs(of: fixture.gateway.run.processID)
    #expect(children.count == 1)
    return try #require(children.first.flatMap(WatchedProcess.init))
  }

  @Test func `a coordinator of another store leaves no settings behind`() async throws {
    let other = TestDirectory()
    let fixture = try GatewayFixture(
      [], ["AUTOSTART": "yes"], coordinatorArguments: ["--data-dir", other.file("data")])
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture) }
    #expect(try await fixture.image("/a").status == 503)
    try fixture.cluster.killCoordinator()
    #expect(try await fixture.image("/a").status == 200)
    #expect(
      try fixture.cluster.client().answer(.status).dataDirectory == fixture.cluster.dataDirectory)
  }
}

/// A coordinator that is there and says nothing.
@Suite(.timeLimit(.minutes(2)))
struct SilentCoordinatorTests {
  @Test func `what needs the coordinator has the time of a request, and no more`() async throws {
    let fixture = try GatewayFixture(["--request-timeout", "1s"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let job = try fixture.cluster.submit([fixture.origin.baseURL + "/a"])
    _ = try await fixture.gateway.response("/api/jobs/\(job)/events")
    let coordinator = try fixture.cluster.runningCoordinator()
    coordinator.signal(SIGSTOP)
    defer { coordinator.signal(SIGCONT) }
    for target in [
      "/id/\(job)-0", "/id/\(job)-0/40/30", "/id/\(job)-0/info?exif", "/v2/list?job=\(job)",
      "/api/jobs", "/api/jobs/\(job)", "/api/jobs/\(job)/events",
    ] {
      let response = try await fixture.gateway.response(target)
      #expect(response.status == 504, "\(target)")
      #expect(try response.failureCode() == "timeout", "\(target)")
    }
  }
}

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
