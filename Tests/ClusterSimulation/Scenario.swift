import ImgModel
import ImgScheduler
import ImgWire
import SeededRandom
import WorkerSimulation

/// One seeded run of the scheduler with everything around it simulated: the same seed gives the
/// same run.
package struct Simulation {
  /// What runs under the scheduler.
  package enum WorkerKind: String, Hashable, Sendable, CaseIterable {
    /// Models of workers, whose answers may get lost.
    case modelled
    /// The machines of real workers, under a model of their origins, store and decoder.
    case real
  }

  package struct Report: Hashable, Sendable {
    package let seed: UInt64
    package let workers: WorkerKind
    /// What went against the rules; nothing when all is well.
    package let faults: [String]
    package let lineCount: Int
    package let transferCount: Int
    package let attachedCount: Int
    package let restartCount: Int
    package let lateAnswerCount: Int
    /// Of everything that the scheduler wanted done; `nil` when that was not asked for.
    package let traceDigest: UInt64?
  }

  /// Runs a scenario of faults and changes to its end, where nothing goes wrong any more and all must
  /// come to rest.
  ///
  /// - Parameters:
  ///   - workers: what runs under the scheduler.
  ///   - stepCount: things that happen before the end.
  ///   - isTraced: whether the report has a digest of the scheduler's effects.
  package static func run(
    seed: UInt64, workers: WorkerKind, stepCount: Int, isTraced: Bool = false
  ) -> Report {
    var scenario = Scenario(seed: seed, workers: workers, isTraced: isTraced)
    for _ in 0..<stepCount where scenario.faults.isEmpty { scenario.happen() }
    if scenario.faults.isEmpty {
      if seed % 4 == 3 { scenario.endByDraining() } else { scenario.end() }
    }
    return scenario.report
  }
}

/// A random run: clients, workers, the clock, the origin and the journal do anything in any order,
/// answers are late, doubled, lost or in another order, workers die and hang, the coordinator is
/// killed.
struct Scenario {
  let seed: UInt64
  let workerKind: Simulation.WorkerKind
  var random: SeededGenerator
  let cluster: ClusterModel
  private let book = FaultBook()
  /// The viewers that are owed an answer.
  var expectedViewers: Set<ViewerID> = []
  /// Answers that were given, to be given again.
  var oldAnswers: [Event] = []
  /// What counted before the coordinator was killed.
  var lateAnswerCount = 0
  var restartCount = 0
  /// Starts of workers that were made to fail; few enough that no worker is given up.
  var failedStartCount = 0
  /// See ``finalMoveMaximum``.
  var finalMoveCount = 0

  init(seed: UInt64, workers: Simulation.WorkerKind, isTraced: Bool = false) {
    self.seed = seed
    workerKind = workers
    var random = SeededGenerator(seed: seed)
    let book = book
    cluster = ClusterModel(
      workers: .random(in: 1...3, using: &random), transfers: .random(in: 1...5, using: &random),
      perHost: .random(in: 1...3, using: &random),
      ratePerMinute: Bool.random(using: &random) ? 0 : .random(in: 20...400, using: &random),
      attempts: .random(in: 1...4, using: &random),
      rememberFailures: Bool.random(using: &random)
        ? .seconds(600) : .milliseconds(Int64.random(in: 0...20_000, using: &random)),
      // Now and then so many look-ups that a host gets more lines than it may have waiting.
      credits: Credits(
        lookups: Bool.random(using: &random) ? 4 : 120,
        leases: .random(in: 2...6, using: &random), decodeQueueTarget: 1),
      fleet: workers == .real ? Self.fleet(book) : nil,
      report: { book.faults.append($0) })
    self.random = random
    if isTraced { cluster.trace = TraceDigest() }
    cluster.areWorkersReadyAtOnce = false
    cluster.isJournalHeld = true
    cluster.isMailHeld = true
    cluster.handle(.began)
  }

  private static func fleet(_ book: FaultBook) -> WorkerFleet {
    let origins = SimulatedOrigins(hosts: (0..<4).map { "host\($0)" }, brokenHost: "host3")
    return WorkerFleet(origins: origins) { book.faults.append($0) }
  }

  var faults: [String] { book.faults }

  var report: Simulation.Report {
    Simulation.Report(
      seed: seed, workers: workerKind, faults: faults,
      lineCount: cluster.journal.jobs.values.reduce(0) { $0 + $1.record.counts.total },
      transferCount: cluster.fetchStarts.count, attachedCount: cluster.attachedCount,
      restartCount: restartCount,
      lateAnswerCount: lateAnswerCount + cluster.scheduler.lateAnswerCount,
      traceDigest: cluster.trace?.value)
  }

  mutating func happen() {
    if !cluster.stopReasons.isEmpty { restart() }
    if let fleet = cluster.fleet { return happen(in: fleet) }
    switch Int.random(in: 0..<210, using: &random) {
    case 0..<8: submit()
    case 8..<24: view()
    case 24..<32: leave()
    case 32..<44: changeJob()
    case 44..<46: changeLimits()
    case 46..<80: cluster.deliverJournal(.random(in: 1...4, using: &random))
    case 80..<100: answerLookup()
    case 100..<116: endTransfer()
    case 116..<141: endDecode()
    case 141: loseOriginal()
    case 142..<172: deliverMail()
    case 172..<176: becomeReady()
    case 176..<181: die()
    case 181..<183: observe()
    case 183..<187: exitKilled()
    case 187..<189: repeatAnswer()
    case 189: loseAnswer()
    case 190: restart()
    case 191: cluster.setClock(by: .seconds(.random(in: -100_000...100_000, using: &random)))
    case 192..<194: cluster.handle(.failuresForgotten([randomLine()]))
    case 194: goStale()
    case 195: cluster.refuseChanges()
    case 196..<199: changePace()
    case 199..<202: reportStore()
    case 202..<206: endClientFetch()
    default: cluster.advance(by: .milliseconds(.random(in: 1...3_000, using: &random)))
    }
  }
}

/// Where the model's closure writes.
final class FaultBook {
  var faults: [String] = []
}

// MARK: - Clients

extension Scenario {
  private static let variants: [Variant] =
    [.standard] + [64, 32].compactMap { try? Variant(ImageVariant(width: $0, height: $0)) }

  mutating func randomLine() -> String {
    let host = Int.random(in: 0..<4, using: &random)
    let number = Int.random(in: 0..<14, using: &random)
    if cluster.fleet != nil {
      // Models of workers know nothing of these.
      switch number {
      case 1: return "http://host\(host)/deadly"
      case 2: return "http://host\(host)/closed/1"
      case 3: return "data:image/png;base64,AAAA"
      default: break
      }
    }
    return number == 0 ? "no URL" : url(number, host: "host\(host)")
  }

  private mutating func randomVariant() -> Variant {
    Self.variants.randomElement(using: &random) ?? .standard
  }

  private mutating func randomKeep() -> Keep {
    ([.thumbnail, .thumbnail] + Keep.allCases).randomElement(using: &random) ?? .thumbnail
  }

  private mutating func randomPolicy() -> CachePolicy {
    ([.cacheElseLoad, .cacheElseLoad, .byProtocol] + CachePolicy.allCases)
      .randomElement(using: &random) ?? .cacheElseLoad
  }

  private mutating func randomExpiry() -> Expiry {
    let number = Int64.random(in: 1...9, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return Expiry(.after(.seconds(number)))
    case 1: return Expiry(.after(.seconds(number)), isSliding: true)
    case 2: return Expiry(.at(WallTime(rawValue: number * 1_000_000)))
    case 3: return Expiry(.standard, isSliding: true)
    default: return .standard
    }
  }

  private mutating func randomDelay() -> Duration {
    Int.random(in: 0..<5, using: &random) == 0
      ? .milliseconds(Int64.random(in: 1...4_000, using: &random)) : .zero
  }

  private mutating func randomTimeout() -> Duration? {
    Int.random(in: 0..<4, using: &random) == 0
      ? .milliseconds(Int64.random(in: 1...20_000, using: &random)) : nil
  }

  private mutating func randomPoliteness() -> FetchOptions {
    FetchOptions(
      cachePolicy: randomPolicy(),
      respectsOptOut: Int.random(in: 0..<4, using: &random) == 0,
      respectsRobots: Int.random(in: 0..<3, using: &random) == 0,
      redirectOrigins: SimulatedOrigins.list(&random))
  }

  mutating func submit() {
    // Mostly short lists; now and then one that is longer than what may be in hand.
    let isLong = Int.random(in: 0..<12, using: &random) == 0
    let count = Int.random(in: 0..<(isLong ? 300 : 20), using: &random)
    let isOfOneHost = Int.random(in: 0..<3, using: &random) == 0
    let lines = (0..<count).map { number in
      isOfOneHost ? url(number + 100, host: "host1") : randomLine()
    }
    cluster.submit(
      lines, variant: randomVariant(), expiry: randomExpiry(),
      priority: .random(in: -2...2, using: &random),
      order: Bool.random(using: &random) ? .firstInFirstOut : .lastInFirstOut,
      delay: randomDelay(), timeout: randomTimeout(), keep: randomKeep(),
      fetch: randomPoliteness(),
      pinPolicy: PinPolicy.allCases.randomElement(using: &random) ?? .none)
  }

  private mutating func upload() {
    let viewer = cluster.upload(
      as: Bool.random(using: &random) ? randomLine() : nil, variant: randomVariant(),
      keep: randomKeep(), timeout: randomTimeout())
    // What is stored under no URL is refused.
    if cluster.waitingViewers.contains(viewer) { expectedViewers.insert(viewer) }
  }

  mutating func view() {
    if Int.random(in: 0..<8, using: &random) == 0 { return upload() }
    let name = ["a", "b", nil, nil].randomElement(using: &random) ?? nil
    let viewer = cluster.view(
      randomLine(), name: name, variant: randomVariant(), expiry: randomExpiry(),
      priority: Int.random(in: RequestOptions.priorityRange, using: &random), delay: randomDelay(),
      timeout: randomTimeout(), keep: randomKeep(), fetch: randomPoliteness(),
      bypassesStore: Int.random(in: 0..<5, using: &random) == 0,
      updates: ArrivalUpdates(rawValue: Int.random(in: 0..<4, using: &random)),
      maximumRetryAfter: [nil, .seconds(2), .seconds(60)].randomElement(using: &random) ?? nil,
      offersFetch: Int.random(in: 0..<4, using: &random) == 0)
    expectedViewers.insert(viewer)
  }

  /// A client that was asked to fetch does, or cannot. It may be too late.
  mutating func endClientFetch() {
    guard let viewer = cluster.askedViewers.randomElement(using: &random) else { return }
    if Int.random(in: 0..<4, using: &random) == 0 {
      cluster.failToFetch(for: viewer)
    } else {
      let isTooLong = Int.random(in: 0..<10, using: &random) == 0
      cluster.bringFetched(for: viewer, byteCount: isTooLong ? .max : 50_000)
    }
  }

  mutating func leave() {
    let waiting = cluster.waitingViewers.sorted()
    guard let viewer = waiting.randomElement(using: &random) else { return }
    expectedViewers.remove(viewer)
    cluster.leave(viewer)
  }

  mutating func changeJob() {
    let changes: [ImageJobChange] = [
      .pause, .resume, .resume, .cancel, .retry(includesFinal: false), .retry(includesFinal: true),
      .setPriority(
        ImageJob.Priority(rawValue: .random(in: -2...2, using: &random)) ?? .normal), .unpin,
      .remove,
    ]
    guard let job = cluster.journal.jobs.keys.sorted().randomElement(using: &random),
      let change = changes.randomElement(using: &random)
    else { return }
    cluster.change(job, change)
  }

  mutating func changeLimits() {
    cluster.changeLimits(
      LimitChange(
        transfers: .random(in: 1...5, using: &random),
        transfersPerHost: .random(in: 1...3, using: &random),
        hostRatePerMinute: Bool.random(using: &random) ? 0 : .random(in: 20...400, using: &random),
        defaultExpiry: .milliseconds(Int64.random(in: 1_000...9_000, using: &random))))
  }
}

/// What befalls the processes: workers, be they models or with real machines, and the coordinator.
extension Scenario {
  mutating func randomWorker(where isFit: (WorkerID) -> Bool = { _ in true }) -> WorkerID? {
    cluster.livingWorkers.filter(isFit).randomElement(using: &random)
  }

  mutating func becomeReady() {
    let cluster = cluster
    let isStarting = { !cluster.isReady($0) && !cluster.killed.contains($0) }
    if let id = randomWorker(where: isStarting) { cluster.ready(id) }
  }

  mutating func observe() {
    let cluster = cluster
    let isObserved = { cluster.isReady($0) && !cluster.killed.contains($0) }
    guard let id = randomWorker(where: isObserved) else { return }
    let lease = cluster.decodes(of: id).randomElement(using: &random)
    let age = Duration.seconds(Int.random(in: 0...12, using: &random))
    let time = lease == nil ? Duration.zero : .seconds(Int.random(in: 0...40, using: &random))
    cluster.handle(
      .workerObserved(
        id, Observation(heartbeatAge: age, readingLease: lease, readingTime: time)))
  }

  // MARK: - Ends

  mutating func die() {
    guard let id = randomWorker() else { return }
    // One worker's failed starts stay below the number that ends the cluster.
    if !cluster.isReady(id) {
      guard failedStartCount < Supervisor.failedStartsMaximum - 1 else { return }
      failedStartCount += 1
    }
    let ends: [WorkerEnd] = [
      .left, .crashed("SIGSEGV"), .crashedInStore("SIGSEGV"), .killed("SIGKILL"),
    ]
    exit(id, ends.randomElement(using: &random) ?? .left)
  }

  mutating func exitKilled() {
    for id in cluster.killed where cluster.hasProcess(id) { exit(id, .killed("SIGKILL")) }
  }

  private mutating func exit(_ id: WorkerID, _ end: WorkerEnd) {
    let transferring = cluster.receivingTransfers(of: id).randomElement(using: &random)
    cluster.exit(id, end, transferringLease: transferring)
  }

  /// The coordinator is killed, and with it everything that was not durable.
  mutating func restart() {
    lateAnswerCount += cluster.scheduler.lateAnswerCount
    restartCount += 1
    // A failed start that no coordinator remembers counts no more.
    failedStartCount = 0
    // Its workers are gone too, and the next one's are numbered from 1 again.
    oldAnswers = []
    expectedViewers.formIntersection(cluster.answers.keys)
    cluster.restart()
  }
}

/// From here on nothing goes wrong any more, and everything must come to its end.
extension Scenario {
  /// In each of these rounds time passes, and all that is under way ends.
  private static let finalRoundMaximum = 2_000
  /// Messages that arrive and operations that end in all rounds together: more than any run needs.
  static let finalMoveMaximum = 100_000

  mutating func end() {
    for job in cluster.journal.jobs.keys.sorted() { cluster.change(job, .resume) }
    advance { $0.scheduler.isIdle && $0.changingJobs.isEmpty }
    // A pause that was on its way has come after the resumption.
    for job in cluster.journal.jobs.keys.sorted() { cluster.change(job, .resume) }
    advance { $0.scheduler.isIdle && $0.scheduler.jobs.isEmpty }
    // After a fault nothing goes on.
    guard faults.isEmpty else { return }
    guard cluster.isIdle, cluster.scheduler.jobs.isEmpty else {
      let jobs = cluster.scheduler.jobs.ids.sorted().compactMap { cluster.status($0) }
      return cluster.fail(
        "does not come to rest: \(jobs), workers \(cluster.scheduler.workers.supervisor.children)")
    }
    finishEverything()
    checkResults()
  }

  /// The coordinator leaves in the middle of it.
  mutating func endByDraining() {
    cluster.handle(.drainRequested)
    let spawnCount = cluster.spawnCount
    advance { $0.drainedCount > 0 }
    cluster.handle(.timePassed)
    if cluster.drainedCount != 1 { cluster.fail("drained \(cluster.drainedCount) times") }
    if cluster.spawnCount != spawnCount { cluster.fail("starts workers while it drains") }
    if !cluster.scheduler.fetches.leases.isEmpty { cluster.fail("drained with leases") }
    if !expectedViewers.isSubset(of: cluster.answers.keys) { cluster.fail("a viewer waits") }
  }

  private mutating func advance(until isDone: (ClusterModel) -> Bool) {
    cluster.areWorkersReadyAtOnce = true
    cluster.isJournalHeld = false
    cluster.isMailHeld = false
    cluster.handle(.timePassed)
    if let fleet = cluster.fleet { calm(fleet) }
    for _ in 0..<Self.finalRoundMaximum where faults.isEmpty && !isDone(cluster) {
      exitKilled()
      for id in cluster.livingWorkers where !cluster.isReady(id) { cluster.ready(id) }
      // A worker whose answer was lost is found out.
      for id in cluster.livingWorkers where cluster.isReady(id) && !cluster.killed.contains(id) {
        cluster.handle(.workerObserved(id, Observation(heartbeatAge: .zero)))
      }
      // Less and less is pinned.
      for byteCount in [1, 0] { cluster.reportStore(pinned: Int64(byteCount), of: 1_000) }
      cluster.advance(by: .seconds(6))
      finishEverything()
    }
  }

  private mutating func finishEverything() {
    if let fleet = cluster.fleet {
      finishEverything(in: fleet)
    } else {
      cluster.finishEverything()
    }
  }

  private func checkResults() {
    for (id, job) in cluster.journal.jobs {
      let counts = job.record.counts
      let isWhole = job.record.state == .cancelled || job.outcomeCount == counts.total
      if job.record.isActive || counts.finished != counts.total || !isWhole
        || counts.done + counts.failed != job.outcomeCount
      {
        cluster.fail("job \(id) ended as \(job.record.state) with \(counts)")
      }
    }
    if !expectedViewers.isSubset(of: cluster.answers.keys) { cluster.fail("a viewer waits") }
    let hasFetches =
      !cluster.scheduler.fetches.sources.isEmpty || !cluster.scheduler.fetches.transfers.isEmpty
    if !cluster.scheduler.work.isEmpty || hasFetches {
      cluster.fail("items are left")
    }
    if let fleet = cluster.fleet { fleet.ids.forEach(fleet.checkEnd) }
    if !cluster.stopReasons.isEmpty { cluster.fail("gave up") }
  }
}
