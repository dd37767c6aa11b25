import FoundationEssentials
import ImgModel
import ImgSystem
import SeededRandom
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// A long list while processes are killed at random moments of its way, which a seed replays.
@Suite(.timeLimit(.minutes(20))) struct ChaosTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  private static let kill: CInt = 9
  /// Fewer than eight: of eight, one is kept for hosts that answer promptly, which on a busy
  /// machine none does.
  private static let transfers = 7
  /// What a worker may hold: the least share of transfers that every worker has, and what waits for
  /// its decoder.
  private static let leasesPerWorker = 8 + 8
  private static let lineCount = 2_000
  /// Set to the seed of a failure, it is the seed of the next run.
  private static let seedVariable = "IMGCTL_TEST_SEED"

  init() throws {
    cluster = try Cluster(["TRANSFERS": "\(Self.transfers)"])
  }

  @Test func `killed workers and coordinators cost only a second fetch of their URLs`() throws {
    let given = ProcessInfo.processInfo.environment[Self.seedVariable]
    let seed = given.flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    let plan = KillPlan(
      seed: seed, workerCount: 12, coordinatorCount: 3,
      requests: 100..<Self.lineCount - 200)
    let list = origin.listWithMissing(Self.lineCount)
    let job = try origin.gather(Self.transfers) { try cluster.submit(list.lines) }
    let kills = try plan.kills.map { planned in
      try #require(
        origin.origin.waitUntil { $0.totals.requests >= planned.requestCount },
        "seed \(seed)")
      return try perform(planned)
    }
    let status = try cluster.finished(job)
    try cluster.expect(status, endedAs: list)

    let snapshot = origin.origin.snapshot
    let peak = peakInFlight(in: snapshot)
    #expect(peak == Self.transfers, "seed \(seed)")
    let extra = try expectEachRefetchAfterAKill(kills, in: snapshot, of: list, seed: seed)
    let held = kills.map { $0.victim == .worker ? 1 : 2 }.reduce(0, +) * Self.leasesPerWorker
    #expect(extra.pictures <= held, "seed \(seed)")
    print(
      "chaos, seed \(seed): \(kills.count) kills, \(snapshot.totals.requests) requests for "
        + "\(Self.lineCount) URLs, of these again \(extra.pictures) pictures of "
        + "at most \(held) held and \(extra.missing) not found; peak in flight \(peak) "
        + "of \(Self.transfers)")
  }

  // MARK: - Kills

  private func perform(_ planned: KillPlan.Kill) throws -> KillRecord {
    let before: Int
    switch planned.victim {
    case .worker:
      var workers: [WatchedProcess] = []
      try #require(
        try eventually {
          workers = try cluster.readyWorkers()
          return !workers.isEmpty
        })
      let worker = workers[planned.choice % workers.count]
      before = position
      worker.signal(Self.kill)
      #expect(try worker.hasEnded())
      #expect(origin.origin.waitUntilRead())
    case .coordinator:
      let coordinator = try cluster.runningCoordinator()
      let workers = childProcessIDs(of: coordinator.processID).compactMap(WatchedProcess.init)
      before = position
      try cluster.killCoordinator()
      // Until they have ended, what they transfer is beyond the next coordinator's knowledge.
      for worker in workers { #expect(try worker.hasEnded()) }
      #expect(origin.origin.waitUntilRead())
      try cluster.start()
    }
    return KillRecord(victim: planned.victim, positions: before...position)
  }

  private var position: Int { origin.origin.snapshot.log.count }

  // MARK: - Checks

  /// Of the requests that were not made again: a killed worker's are still in flight for the origin
  /// until it notices, and count no more for the cluster.
  private func peakInFlight(in snapshot: OriginSnapshot) -> Int {
    var final: [String: Int] = [:]
    for event in snapshot.starts() { final[event.path] = event.request }
    return snapshot.peakInFlight { final[$0.path] == $0.request }
  }

  /// Expects that between two requests for a URL there was a kill: what was not in flight at one is
  /// never fetched again.
  ///
  /// - Returns: how many requests there were beyond one a URL.
  private func expectEachRefetchAfterAKill(
    _ kills: [KillRecord], in snapshot: OriginSnapshot, of list: MixedList, seed: UInt64
  ) throws -> (pictures: Int, missing: Int) {
    var lastStarts: [String: Int] = [:]
    var extra = (pictures: 0, missing: 0)
    for (index, event) in snapshot.log.enumerated() where event.kind == .started {
      defer { lastStarts[event.path] = index }
      guard let earlier = lastStarts[event.path] else { continue }
      let isDueToAKill = kills.contains {
        earlier < $0.positions.upperBound && index >= $0.positions.lowerBound
      }
      #expect(isDueToAKill, "seed \(seed): \(event.path) at \(earlier) and \(index)")
      if list.failures[origin.url(event.path)] == nil {
        extra.pictures += 1
      } else {
        extra.missing += 1
      }
    }
    #expect(lastStarts.count == list.lines.count, "seed \(seed)")
    return extra
  }
}

/// Who is killed, and at how many requests that the origin has seen: all of it follows from a
/// number.
struct KillPlan {
  enum Victim: Hashable {
    case worker
    case coordinator
  }

  struct Kill {
    let requestCount: Int
    let victim: Victim
    /// Which of the workers that there are, counted around.
    let choice: Int
  }

  /// In the order of their requests.
  let kills: [Kill]

  init(seed: UInt64, workerCount: Int, coordinatorCount: Int, requests: Range<Int>) {
    var generator = SeededGenerator(seed: seed)
    let victims =
      [Victim](repeating: .worker, count: workerCount)
      + [Victim](repeating: .coordinator, count: coordinatorCount)
    let moments = victims.indices.map { _ in Int.random(in: requests, using: &generator) }.sorted()
    kills = zip(moments, victims.shuffled(using: &generator)).map { moment, victim in
      Kill(
        requestCount: moment, victim: victim,
        choice: Int.random(in: 0..<1_000, using: &generator))
    }
  }
}

/// A kill as the origin's log saw it.
struct KillRecord {
  let victim: KillPlan.Victim
  /// The length of the log before the kill and once every process that died of it was gone.
  let positions: ClosedRange<Int>
}
