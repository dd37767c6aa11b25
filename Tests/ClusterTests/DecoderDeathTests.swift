import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import SeededRandom
import TestCluster
import TestOrigin
import Testing

/// Decoders that are killed, stopped, or never begin: what that costs pictures, and what not.
@Suite(.timeLimit(.minutes(20)))
struct DecoderDeathTests {
  private static let stop: CInt = 19
  private static let kill: CInt = 9
  /// How many lines of a list are decoded while decoders are killed. More by hand.
  private static let lineCount =
    ProcessInfo.processInfo.environment["IMGCTL_TEST_LINES"].flatMap { Int($0) } ?? 300
  /// How long after a kill the next one comes.
  private static let killInterval = Duration.milliseconds(50)

  /// The decoders that run at this moment.
  private func decoders(of client: Client) throws -> [WatchedProcess] {
    try client.status().workers.flatMap(\.decoderProcessIDs).compactMap(WatchedProcess.init)
  }

  /// Whether each worker has a decoder and a spare one.
  private func areDecodersComplete(of client: Client) throws -> Bool {
    try eventually {
      try client.status().workers.allSatisfy {
        $0.state == .ready && $0.decoderProcessIDs.count == 2
      }
    }
  }

  @Test func `decoders killed at random cost no picture its outcome, and no URL a second fetch`()
    throws
  {
    let cluster = try Cluster(Cluster.inspectable)
    let origin = try ListOrigin()
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
    let status = try client.status()
    #expect(status.workers.map(\.deaths) == [0, 0])
    let deaths = status.workers.map(\.decoderDeaths).reduce(0, +)
    #expect(deaths > 0)
    print(
      "decoder chaos, seed \(seed): \(killCount) kills, \(deaths) deaths in \(time) while "
        + "\(list.lines.count) URLs took \(snapshot.totals.requests) requests")
  }

  @Test(.tags(.slow))
  func `pictures whose decoders hang are made by others, while transfers go on`()
    throws
  {
    let cluster = try Cluster(["WORKERS": "1", "DECODE_TIMEOUT": "5s"])
    let origin = try ListOrigin()
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let stopped = try decoders(of: client)
    // One that is stopped while it starts is no picture's. After its lock a decoder sleeps only when
    // it has said that it is ready.
    try #require(
      try eventually {
        stopped.allSatisfy { filterCount(of: $0.processID) == 2 && isAsleep($0.processID) }
      })
    for decoder in stopped { decoder.signal(Self.stop) }
    let list = origin.pictures(6)
    let job = try cluster.submit(list)
    #expect(origin.origin.waitUntil { $0.totals.requests == list.count && $0.totals.inFlight == 0 })
    #expect(try cluster.status(of: job).done == 0)
    let status = try cluster.finished(job)
    #expect(status.done == list.count)
    for decoder in stopped { #expect(try decoder.hasEnded()) }
    #expect(origin.origin.totals().requests == list.count)
    #expect(try client.status().workers.map(\.deaths) == [0])
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
