import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import SeededRandom
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// Workers that die, hang, or never begin.
@Suite(.timeLimit(.minutes(20))) struct WorkerDeathTests {
  private static let stop: CInt = 19

  @Test(.tags(.slow)) func `a stopped worker is replaced, and the job finishes`() throws {
    let cluster = try Cluster()
    let origin = ListOrigin()
    let list = origin.mixedList(1_000)
    let job = try cluster.submit(list.lines)
    try #require(origin.origin.waitUntil { $0.totals.requests >= 100 })
    let worker = try #require(try cluster.readyWorkers().first)
    worker.signal(Self.stop)
    try cluster.expect(try cluster.finished(job), endedAs: list)
    #expect(try worker.hasEnded())
  }

  @Test(.tags(.slow))
  func `a coordinator whose workers never start exits, and its job waits`() throws {
    let origin = ListOrigin()
    // Side by side, because each takes the seconds that all pauses between starts make.
    let attempts = try ["/bin/false", "/nowhere/imgworker"].map { program in
      let cluster = try Cluster(isStarted: false)
      try cluster.start(["--worker-executable", program])
      let list = try cluster.list(origin.pictures(3))
      return (
        cluster: cluster, program: program, run: try cluster.begin(["submit", "--wait", list])
      )
    }
    for (cluster, program, run) in attempts {
      #expect(try run.wait().exitCode == 3)
      let coordinator = try cluster.runningCoordinator().wait()
      #expect(coordinator.exitCode == 1)
      #expect(coordinator.messages.contains("giving up: no worker can be kept alive"))
      if program != "/bin/false" { #expect(coordinator.messages.contains(program)) }
      try cluster.start()
      #expect(try cluster.finished(JobID(rawValue: 1)).done == 3)
    }
  }

  @Test func `jobs and a killed worker leave no open descriptor`() throws {
    let cluster = try Cluster(Cluster.inspectable)
    let origin = ListOrigin()
    let processID = try cluster.runningCoordinator().processID
    // The only client at the first count and, once the others are forgotten, at the last.
    let client = try cluster.client()
    func areWorkersReady() throws -> Bool {
      try eventually {
        try client.answer(.status).workers.allSatisfy {
          $0.state == .ready && $0.decoderProcessIDs.count == 2
        }
      }
    }
    try #require(try areWorkersReady())
    let before = try #require(openDescriptorCount(of: processID))
    for size in [10, 20] { _ = try cluster.run(origin.pictures(size)) }
    let victim = try #require(try cluster.readyWorkers().first)
    victim.signal(9)
    #expect(try victim.hasEnded())
    _ = try cluster.run(origin.pictures(30))
    try #require(try areWorkersReady())
    #expect(try eventually { openDescriptorCount(of: processID) == before })
    #expect(childProcessIDs(of: processID).count == 2 * 3)
    #expect(try client.answer(.status).workers.map(\.deaths).reduce(0, +) == 1)
  }
}

/// Decoders that are killed, stopped, or never begin: what that costs pictures, and what not.
@Suite(.timeLimit(.minutes(20))) struct DecoderDeathTests {
  private static let stop: CInt = 19
  private static let kill: CInt = 9
  /// How many lines of a list are decoded while decoders are killed. More by hand.
  private static let lineCount =
    ProcessInfo.processInfo.environment["IMGCTL_TEST_LINES"].flatMap { Int($0) } ?? 300
  /// How long after a kill the next one comes.
  private static let killInterval = Duration.milliseconds(50)

  /// The decoders that run at this moment.
  private func decoders(of client: Client) throws -> [WatchedProcess] {
    try client.answer(.status).workers.flatMap(\.decoderProcessIDs).compactMap(WatchedProcess.init)
  }

  /// Whether each worker has a decoder and a spare one.
  private func areDecodersComplete(of client: Client) throws -> Bool {
    try eventually {
      try client.answer(.status).workers.allSatisfy {
        $0.state == .ready && $0.decoderProcessIDs.count == 2
      }
    }
  }

  @Test func `decoders killed at random cost no picture its outcome and no URL a fetch`() throws {
    let cluster = try Cluster(Cluster.inspectable)
    let origin = ListOrigin()
    let coordinator = try cluster.runningCoordinator().processID
    // The only client at the first count and, once the others are forgotten, at the last.
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let before = try #require(openDescriptorCount(of: coordinator))
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let list = origin.mixedList(Self.lineCount)
    let job = try cluster.submit(list.lines)
    var killCount = 0
    let began = ContinuousClock.now
    while try cluster.status(of: job).state == .running {
      // Most of those that start are spared, so that some decode however slow the machine is.
      if let decoder = try decoders(of: client).randomElement(using: &generator),
        filterCount(of: decoder.processID) == 2
          || Int.random(in: 0..<8, using: &generator) == 0
      {
        decoder.signal(Self.kill)
        killCount += 1
      }
      ThisProcess.pause(for: Self.killInterval)
    }
    let time = ContinuousClock.now - began
    try cluster.expect(try cluster.finished(job), endedAs: list)
    let snapshot = origin.origin.snapshot
    #expect(snapshot.paths.values.allSatisfy { $0.requests == 1 }, "seed \(seed)")
    #expect(snapshot.totals.requests == list.lines.count)
    #expect(try areDecodersComplete(of: client))
    #expect(try eventually { openDescriptorCount(of: coordinator) == before })
    #expect(childProcessIDs(of: coordinator).count == 6)
    let status = try client.answer(.status)
    #expect(status.workers.map(\.deaths) == [0, 0])
    let deaths = status.workers.map(\.decoderDeaths).reduce(0, +)
    #expect(deaths > 0)
    print(
      "decoder chaos, seed \(seed): \(killCount) kills, \(deaths) deaths in \(time) while "
        + "\(list.lines.count) URLs took \(snapshot.totals.requests) requests")
  }

  @Test func `decoders end with their worker, and with the coordinator`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let first = try decoders(of: client)
    let worker = try #require(try cluster.readyWorkers().first)
    worker.signal(Self.kill)
    for decoder in first { #expect(try decoder.hasEnded()) }
    try #require(try areDecodersComplete(of: client))
    let second = try decoders(of: client)
    try cluster.killCoordinator()
    for decoder in second { #expect(try decoder.hasEnded()) }
  }

  @Test func `decoders end with a coordinator that is stopped`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let all = try decoders(of: client)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try cluster.runningCoordinator().wait().exitCode == 0)
    for decoder in all { #expect(try decoder.hasEnded()) }
    let messages = try cluster.runningCoordinator().messages()
    #expect(!messages.contains("decoder") && !messages.contains("is ended"), "\(messages)")
  }
}
