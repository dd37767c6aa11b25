import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem
import ImgWire
import Synchronization
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

@testable import ImgClient

/// Clients of coordinators that are missing, come back, or are of another version, and of a damaged store.
@Suite(.timeLimit(.minutes(20)))
struct ReconnectionTests {
  @Test func `each of many loads goes on when the coordinator is killed meanwhile`() async throws {
    let backend = try RealBackend()
    let (held, others) = ((0..<4).map { "held/\($0)" }, (0..<80).map { "\($0)" })
    for name in held { try backend.serveInParts(name) }
    for name in others { try backend.serve(name) }
    let client = ImageClient(transport: try backend.makeTransport(), memoryCache: nil)
    let loads = (held + others).map { name in
      let phases = client.phases(for: backend.url(name))
      return Task { await phases.all.filter(\.isTerminal) }
    }
    #expect(try await eventually { held.allSatisfy { backend.fetchCount(of: $0) == 1 } })
    unsafe try backend.cluster.killCoordinator()
    unsafe try backend.cluster.start()
    #expect(try await eventually { held.allSatisfy { backend.fetchCount(of: $0) == 2 } })
    for name in held { backend.releaseAll(name) }
    for load in loads { #expect(await load.value.map(\.image?.width) == [256]) }
  }

  @Test func `a client that may starts the next coordinator, and reaps the last`() async throws {
    let cluster = try Cluster(isStarted: false)
    var configuration = cluster.configuration
    configuration.startsCoordinator = true
    configuration.coordinatorExecutable = try Programs.path(of: "imgcoordinator")
    let client = try ImageClient(configuration)
    let picture = try PictureMaker.start().card(index: 1, width: 8, height: 8, format: .png)
    let data = "data:image/png;base64,\(Data(picture).base64EncodedString())"
    for size in 2...4 {
      #expect(try await client.image(for: data, size: size).width == size)
      let coordinator = try cluster.client().coordinatorProcessID
      #expect(try cluster.imgctl("stop").exitCode == 0)
      #expect(try await eventually { WatchedProcess(coordinator) == nil })
    }
    // One in the old place would have neither the jobs nor the settings.
    try Directory.move(cluster.dataDirectory, to: cluster.directory.file("moved"))
    let error = await #expect(throws: ImageError.self) {
      try await client.image(for: data, size: 5)
    }
    #expect(error?.message.contains("the data directory \(cluster.dataDirectory) is gone") == true)
    #expect(!FileManager.default.fileExists(atPath: cluster.dataDirectory))
  }

  @Test func `the next coordinator has the settings of the last, also if that gave memory alone`()
    async throws
  {
    let cluster = try Cluster(["TRANSFERS": "7"])
    var configuration = cluster.configuration
    configuration.startsCoordinator = true
    configuration.coordinatorExecutable = try Programs.path(of: "imgcoordinator")
    let picture = try PictureMaker.start().card(index: 1, width: 8, height: 8, format: .png)
    let data = "data:image/png;base64,\(Data(picture).base64EncodedString())"
    let transport = try ClusterTransport(configuration)
    _ = try await ImageClient(transport: transport, memoryCache: nil).image(for: data, size: 2)
    let reader = try ImageClient(configuration)
    #expect(try await reader.image(for: data, size: 2).origin == .store)
    #expect(try await eventually { try cluster.client().answer(.status).memory.processCount == 1 })
    try cluster.killCoordinator()
    #expect(try await reader.image(for: data, size: 3).width == 3)
    #expect(try cluster.client().answer(.status).limits.transfers == 7)
    #expect(try cluster.imgctl("stop").exitCode == 0)
  }

  @Test func `a program's settings count for the coordinator that it starts, above what is kept`()
    async throws
  {
    let cluster = try Cluster(["BACKOFF": "2s"], isStarted: false)
    let kept = ["config", "set", "--transfers", "5", "--attempts", "4"]
    #expect(try cluster.begin(kept).wait().exitCode == 0)
    var configuration = cluster.configuration
    configuration.startsCoordinator = true
    configuration.coordinatorExecutable = try Programs.path(of: "imgcoordinator")
    configuration.settings = ["transfers": "7", "allow-network": "10.0.0.0/8,::1"]
    let picture = try PictureMaker.start().card(index: 1, width: 8, height: 8, format: .png)
    let data = "data:image/png;base64,\(Data(picture).base64EncodedString())"
    let client = try ImageClient(configuration)
    #expect(try await client.image(for: data, size: 2).width == 2)
    let refusal = await client.failure(of: "http://192.168.0.1/a.jpg")
    #expect(
      refusal?.message
        == "192.168.0.1 is refused: private; to permit it: add it to allow-network in the settings of "
        + "ClusterConfiguration, and end the coordinator that runs: imgctl stop --socket \(cluster.socketPath) "
        + "--data-dir \(cluster.dataDirectory)")
    let status = try cluster.client().answer(.status)
    #expect(status.limits.transfers == 7)
    #expect(status.limits.attempts == 4)
    #expect(status.settings.allowedNetworks == ["10.0.0.0/8", "::1/128"])
    #expect(try cluster.imgctl("stop").exitCode == 0)
  }

  @Test(arguments: [
    (
      ["transfer": "7"],
      "settings: there is no setting \"transfer\"; did you mean transfers?"
    ),
    (["attempts": "0"], "settings: attempts: \"0\" is not from 1 to 100"),
    (["contact": ""], "settings: contact: the text is empty"),
    (
      ["ratePerHost": "1/s"],
      "settings: there is no setting \"ratePerHost\"; did you mean rate-per-host?"
    ),
    (
      ["transfers": "1", "--transfers": "2"],
      "settings: there is no setting \"--transfers\"; did you mean transfers?"
    ),
    (["socket": "/s"], "settings: socket is not among them; set socketPath"),
    (["data-dir": "/d"], "settings: data-dir is not among them; set dataDirectory"),
  ])
  func `a program's settings are checked at once`(settings: [String: String], message: String) {
    let error = #expect(throws: ImageError.self) {
      try ImageClient(ClusterConfiguration(settings: settings))
    }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message == message)
  }

  @Test func `a coordinator that is no file is an error that says where the program is looked for`()
    async throws
  {
    let cluster = try Cluster(isStarted: false)
    var configuration = cluster.configuration
    configuration.startsCoordinator = true
    configuration.coordinatorExecutable = "/nowhere/imgcoordinator"
    let error = try await ImageClient(configuration).failure(of: "https://example.org/a")
    #expect(error?.code == .notStarted)
    #expect(
      error?.message
        == "the coordinator did not start: there is no file /nowhere/imgcoordinator, which "
        + "coordinatorExecutable names")
    let program = CoordinatorProgram(beside: "/nowhere", searching: "/none:/nothing")
    #expect(program.path == "/nowhere/imgcoordinator")
    let absence = #expect(throws: ClientError.self) { try program.require() }
    #expect(
      absence?.description
        == "the coordinator did not start: there is no imgcoordinator beside this program "
        + "(/nowhere/imgcoordinator), and none in PATH; put the programs of imgctl there, or set "
        + "coordinatorExecutable")
  }

  @Test func `no coordinator is an error that says how to start one`() async throws {
    let cluster = try Cluster(isStarted: false)
    let client = try ImageClient(cluster.configuration)
    let error = await client.failure(of: "https://example.org/a")
    #expect(error?.code == .unreachable)
    #expect(error?.isRetryable == true)
    #expect(error?.url == "https://example.org/a")
    #expect(error?.message.contains("imgctl start") == true)
  }

  @Test func `the data directory decides on hits, which need no coordinator`() async throws {
    let backend = try RealBackend()
    try backend.serve("a")
    let url = backend.url("a")
    _ = try await backend.makeClient().image(for: url, size: 256)
    var configuration = unsafe backend.cluster.configuration
    unsafe try backend.cluster.killCoordinator()
    #expect(try await ImageClient(configuration).image(for: url, size: 256).origin == .store)
    let directory = TestDirectory()
    configuration.dataDirectory = directory.path
    let elsewhere = try ImageClient(configuration)
    #expect(await elsewhere.failure(of: ImageRequest(url: url))?.code == .unreachable)
  }

  @Test func `a coordinator of another version is an error that says what to do`() async throws {
    let directory = TestDirectory()
    let hello = Hello(protocolVersion: 1, version: "0.0.1", processID: 9, storeDirectory: "/s")
    let coordinator = try ScriptedCoordinator(
      socketPath: directory.file("socket"), hello: .hello(hello))
    let client = try ImageClient(
      ClusterConfiguration(
        socketPath: directory.file("socket"), dataDirectory: directory.file("data"),
        startsCoordinator: false))
    let error = await client.failure(of: "https://example.org/a")
    #expect(error?.code == .versionMismatch)
    #expect(error?.isRetryable == false)
    #expect(error?.message.contains("imgctl 0.0.1 (protocol 1)") == true)
    #expect(error?.message.contains("kill 9") == true)
    _ = coordinator.requests()
  }

  @Test func `thousands of loads at the same time share one connection`() async throws {
    let backend = try RealBackend()
    let connections = Atomic(0)
    let places = try ClusterPlaces(unsafe backend.cluster.configuration)
    let transport = try ClusterTransport(places) { () throws(ClientError) in
      connections.add(1, ordering: .relaxed)
      return try places.connect()
    }
    let client = ImageClient(transport: transport)
    let codes = await withTaskGroup { group in
      for number in 0..<3_000 {
        var request = ImageRequest(url: "https://example.org/\(number)")
        request.cachePolicy = .cacheOnly
        group.addTask { [request] in await client.failure(of: request)?.code }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == Array(repeating: .notCached, count: 3_000))
    #expect(connections.load(ordering: .relaxed) == 1)
  }

  @Test func `a picture of a damaged store is fetched again`() async throws {
    let backend = try RealBackend()
    try backend.serve("a")
    let client = ImageClient(transport: try backend.makeTransport(), memoryCache: nil)
    let first = try await client.image(for: backend.url("a"), size: 256)
    let path = unsafe "\(backend.cluster.storeDirectory)/data.mdb"
    #expect(unsafe truncate(path, 8_192) == 0)
    let second = try await client.image(for: backend.url("a"), size: 256)
    #expect(second.origin == .network)
    #expect(second.bytes == first.bytes)
    #expect(backend.fetchCount(of: "a") == 2)
  }

  @Test func `the clients of a process share one opening of the store`() async throws {
    let backend = try RealBackend()
    try backend.serve("a")
    _ = try await backend.makeClient().image(for: backend.url("a"), size: 256)
    let directory = unsafe backend.cluster.storeDirectory
    let first = try #require(try OpenStores.reader(of: directory))
    let second = try #require(try OpenStores.reader(of: directory))
    #expect(first.store === second.store)
  }
}

struct ReconnectionPlanTests {
  @Test func `attempts begin at once, then after longer and longer pauses, for ten seconds`() {
    let start = ContinuousClock.now
    var plan = ReconnectionPlan(at: start)
    var attempts = [plan.nextAttempt]
    while plan.attemptFailed(at: plan.nextAttempt) { attempts.append(plan.nextAttempt) }
    let pauses = zip(attempts.dropFirst(), attempts).map { $1.duration(to: $0) }
    #expect(attempts.first == start)
    let firstPauses = [50, 100, 200, 400, 800, 1_000].map { Duration.milliseconds($0) }
    #expect(Array(pauses.prefix(6)) == firstPauses)
    #expect(pauses.dropFirst(5).allSatisfy { $0 == .seconds(1) })
    #expect(start.duration(to: attempts[attempts.count - 1]) >= .seconds(10))
    #expect(start.duration(to: attempts[attempts.count - 1]) < .seconds(11))
  }
}

/// Jobs of coordinators that end, and of one that answers as a test says.
@Suite(.timeLimit(.minutes(20)))
struct JobReconnectionTests {
  private func client(_ directory: TestDirectory) throws -> ImageClient {
    try ImageClient(
      ClusterConfiguration(
        socketPath: directory.file("socket"), dataDirectory: "/data", startsCoordinator: false))
  }

  @Test func `a watch goes on however often the coordinator is killed and started`() async throws {
    let (backend, client) = try RealBackend.serving(inParts: "a")
    let jobs = client.jobs
    let id = try await jobs.submit([backend.url("a")])
    let updates = Mutex<[ImageJob]>([])
    let watch = Task {
      for try await job in jobs.updates(of: id) { updates.withLock { $0.append(job) } }
    }
    // More often than a call without any answer is sent.
    for round in 1...CallTable.maximumSendCount + 2 {
      #expect(try await eventually { backend.fetchCount(of: "a") == round })
      let count = updates.withLock { $0.count }
      #expect(
        try await eventually {
          updates.withLock { $0.count > count || $0.last?.state == .running }
        })
      unsafe try backend.cluster.killCoordinator()
      unsafe try backend.cluster.start()
    }
    backend.releaseAll("a")
    try await watch.value
    let ends = updates.withLock { $0.filter(\.hasEnded) }
    #expect(ends.map(\.done) == [1])
  }

  @Test func `a watch fails if the coordinator does not come back`() async throws {
    let (backend, client) = try RealBackend.serving()
    let jobs = client.jobs
    let id = try await jobs.submit([backend.url("a")], as: .delayed)
    let (firsts, first) = AsyncStream.makeStream(of: Void.self)
    let watch = Task {
      for try await _ in jobs.updates(of: id) { first.yield() }
    }
    for await _ in firsts { break }
    unsafe try backend.cluster.killCoordinator()
    let error = await #expect(throws: ImageError.self) { try await watch.value }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("imgctl start") == true)
  }

  @Test func `a change whose connection is lost is not sent again`() async throws {
    let directory = TestDirectory()
    let coordinator = try ScriptedCoordinator(
      socketPath: directory.file("socket"),
      hello: .hello(Hello(processID: 7, storeDirectory: "/data/store/thumbnails")))
    let jobs = try client(directory).jobs
    let error = await #expect(throws: ImageError.self) { try await jobs.cancel(7) }
    #expect(error?.code == .disconnected)
    #expect(error?.message.contains("whether job 7 was changed is not known") == true)
    #expect(coordinator.requests().count == 1)
  }

  @Test(arguments: [false, true])
  func `a list whose connection is lost is not sent again, and may be retried if it was not whole`(
    isComplete: Bool
  ) async throws {
    let directory = TestDirectory()
    let coordinator = try ScriptedCoordinator(
      socketPath: directory.file("socket"),
      hello: .hello(Hello(processID: 7, storeDirectory: "/data/store/thumbnails"))
    ) { request in
      switch request {
      case .submitLines where !isComplete: [nil]
      case .submitEnd: [nil]
      default: []
      }
    }
    let jobs = try client(directory).jobs
    // More than a socket holds unread.
    let urls = (0..<100_000).map { "https://example.org/\($0)" }
    let error = await #expect(throws: ImageError.self) { try await jobs.submit(urls) }
    #expect(error?.code == .disconnected)
    #expect(error?.isRetryable == !isComplete)
    let message = isComplete ? "whether it accepted the list is not known" : "was not accepted"
    #expect(error?.message.contains(message) == true)
    let submissions = coordinator.requests().count { if case .submit = $0 { true } else { false } }
    #expect(submissions == 1)
  }

  @Test func `a list that is made slowly does not delay loads`() async throws {
    let (backend, client) = try RealBackend.serving("a")
    let url = backend.url("a")
    let gate = try BlockingQueue<Void>(capacity: 1)
    let list = NumberedURLs(count: 2_000) { number in
      // Holds the thread of the submission.
      if number == 1_500 { _ = gate.take(upTo: 1) }
    }
    let submission = Task { try await client.jobs.submit(list, as: .delayed) }
    #expect(try await client.image(for: url, size: 64).width == 64)
    gate.close()
    let id = try await submission.value
    #expect(try await client.jobs.job(id).total == 2_000)
  }

  @Test func `a job encodes as imgctl prints it, without the values of headers`() async throws {
    let (backend, client) = try RealBackend.serving()
    let jobs = client.jobs
    var request = ImageJobRequest.delayed
    request.headers = [.init("Authorization", "secret")]
    request.name = "list"
    let id = try await jobs.submit([backend.url("a")], as: request)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The coordinator says after two seconds what a job waits for, and then whenever it is asked.
    var json = ""
    let end = ContinuousClock.now + .seconds(240)
    while !json.contains(#""wait":"#) {
      try #require(ContinuousClock.now < end)
      json = String(decoding: try encoder.encode(try await jobs.job(id)), as: UTF8.self)
    }
    let printed = unsafe try backend.cluster.imgctl("status", "\(id)", "--json").output
    #expect(printed.replacing(#""schema":1,"#, with: "") == json + "\n")
    #expect(json.contains(#"{"name":"authorization"}"#))
    let decoded = try JSONDecoder().decode(ImageJob.self, from: Data(json.utf8))
    #expect(try encoder.encode(decoded) == Data(json.utf8))
  }
}
