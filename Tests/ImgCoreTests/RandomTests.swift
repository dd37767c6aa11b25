import ImgWire
import Testing

@testable import ImgCore

/// Anything in any order: after every event the invariants hold, and in the end every line has
/// exactly one outcome and every viewer one answer.
@Suite(.timeLimit(.minutes(2))) struct RandomTests {
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `whatever happens, every line gets exactly one outcome`(part: UInt64) {
    for seed in (part * 25)..<((part + 1) * 25) {
      var story = RandomStory(seed: seed)
      for _ in 0..<300 { story.happen() }
      if seed.isMultiple(of: 4) { story.endByDraining() } else { story.end() }
    }
  }
}

/// One random run, the same for the same seed.
private struct RandomStory {
  private var random: SeededGenerator
  private let cluster: ClusterModel
  private var expectedViewers: Set<ViewerID> = []
  /// Leases that died with their workers, for late answers.
  private var deadLeases: [(worker: WorkerID, lease: LeaseID)] = []
  private var failedStartCount = 0

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    cluster = ClusterModel(
      workers: 3, transfers: 4, perHost: 2, credits: Credits(lookups: 4, fetches: 3),
      label: "seed \(seed):")
    cluster.areWorkersReadyAtOnce = false
    cluster.isJournalHeld = true
    cluster.handle(.began)
  }

  mutating func happen() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<6: submit()
    case 6..<16: view()
    case 16..<21: leave()
    case 21..<23: cancel()
    case 23..<43: cluster.deliverJournal(.random(in: 1...4, using: &random))
    case 43..<60: answerLookup()
    case 60..<68: transfer()
    case 68..<86: finish()
    case 86..<90: becomeReady()
    case 90..<93: die()
    case 93..<95: observe()
    case 95..<97: exitKilled()
    case 97: answerLate()
    default: cluster.advance(by: .milliseconds(.random(in: 1...3_000, using: &random)))
    }
  }

  /// From here on nothing goes wrong any more, and everything must come to its end.
  mutating func end() {
    goOn { $0.scheduler.isIdle }
    guard cluster.scheduler.isIdle else { return cluster.fail("does not come to rest") }
    checkResults()
  }

  /// The coordinator leaves in the middle of it.
  mutating func endByDraining() {
    cluster.handle(.drainRequested)
    let spawnCount = cluster.spawnCount
    goOn { $0.drainedCount > 0 }
    cluster.handle(.timePassed)
    if cluster.drainedCount != 1 { cluster.fail("drained \(cluster.drainedCount) times") }
    if cluster.spawnCount != spawnCount { cluster.fail("starts workers while it drains") }
    if !cluster.scheduler.leases.isEmpty { cluster.fail("drained with leases") }
    if !expectedViewers.isSubset(of: cluster.answers.keys) { cluster.fail("a viewer waits") }
  }

  private mutating func goOn(until isDone: (ClusterModel) -> Bool) {
    cluster.areWorkersReadyAtOnce = true
    cluster.isJournalHeld = false
    for _ in 0..<100 where !isDone(cluster) {
      exitKilled()
      for worker in cluster.workers.values.filter({ !$0.isReady }).map(\.id).sorted() {
        cluster.ready(worker)
      }
      cluster.advance(by: .seconds(6))
      cluster.handle(.timePassed)
      cluster.settle()
    }
  }

  private func checkResults() {
    for (id, job) in cluster.journal.jobs {
      guard let record = cluster.endedJobs[id] else { return cluster.fail("\(id) has no end") }
      let counts = record.counts
      let isEach = counts.finished == counts.total && job.outcomes.count <= counts.total
      let isWhole = record.state == .cancelled || job.outcomes.count == counts.total
      if !isEach || !isWhole || counts.done + counts.failed != job.outcomes.count {
        cluster.fail("\(id) ended with \(counts)")
      }
    }
    if !expectedViewers.isSubset(of: cluster.answers.keys) { cluster.fail("a viewer waits") }
    if !cluster.scheduler.items.isEmpty { cluster.fail("items are left") }
    if !cluster.giveUpReasons.isEmpty { cluster.fail("gave up") }
  }

  // MARK: - Clients

  private mutating func randomLine() -> String {
    let host = Int.random(in: 0..<4, using: &random)
    let number = Int.random(in: 0..<12, using: &random)
    return number == 0 ? "no URL" : url(number, host: "host\(host)")
  }

  private mutating func submit() {
    let count = Int.random(in: 0..<20, using: &random)
    let lines = (0..<count).map { _ in randomLine() }
    cluster.submit(lines, priority: .random(in: -2...2, using: &random))
  }

  private mutating func view() {
    expectedViewers.insert(cluster.view(randomLine()))
  }

  private mutating func leave() {
    let waiting = cluster.waitingViewers.sorted { $0.rawValue < $1.rawValue }
    guard let viewer = waiting.randomElement(using: &random) else { return }
    expectedViewers.remove(viewer)
    cluster.leave(viewer)
  }

  private mutating func cancel() {
    guard let job = cluster.scheduler.jobs.keys.sorted().randomElement(using: &random) else {
      return
    }
    cluster.handle(.cancelRequested(job))
  }

  // MARK: - Workers

  private mutating func worker(where isFit: (WorkerModel) -> Bool) -> WorkerModel? {
    cluster.workers.values.filter(isFit).sorted { $0.id < $1.id }.randomElement(using: &random)
  }

  private mutating func answerLookup() {
    guard let worker = worker(where: { !$0.lookups.isEmpty }) else { return }
    cluster.answerLookup(of: worker.id)
  }

  private mutating func transfer() {
    guard let url = cluster.fetching.randomElement(using: &random) else { return }
    cluster.transferred(url)
  }

  private mutating func finish() {
    guard let url = cluster.fetching.randomElement(using: &random) else { return }
    let isGood = Int.random(in: 0..<4, using: &random) > 0
    cluster.finish(url, isGood ? .fetchedSample : .failure(.timeout))
    if Bool.random(using: &random) { cluster.store[url] = nil }
  }

  private mutating func becomeReady() {
    let killed = cluster.killed
    guard let worker = worker(where: { !$0.isReady && !killed.contains($0.id) }) else {
      return
    }
    cluster.ready(worker.id)
  }

  private mutating func die() {
    guard let worker = worker(where: { _ in true }) else { return }
    // One slot's failed starts stay below the number that ends the cluster.
    if !worker.isReady {
      guard failedStartCount < Supervisor.failedStartsMaximum - 1 else { return }
      failedStartCount += 1
    }
    let ends: [WorkerEnd] = [.left, .crashed("SIGSEGV"), .killed("SIGKILL")]
    exit(worker, ends.randomElement(using: &random) ?? .left)
  }

  private mutating func observe() {
    let killed = cluster.killed
    guard let worker = worker(where: { $0.isReady && !killed.contains($0.id) }) else { return }
    let lease = worker.fetches.randomElement(using: &random)?.lease
    let age = Duration.seconds(Int.random(in: 0...12, using: &random))
    let time = lease == nil ? Duration.zero : .seconds(Int.random(in: 0...40, using: &random))
    cluster.handle(
      .workerObserved(
        worker.id, Observation(heartbeatAge: age, decodingLease: lease, decodingTime: time)))
  }

  private mutating func exitKilled() {
    for id in cluster.killed {
      if let worker = cluster.workers[id] { exit(worker, .killed("SIGKILL")) }
    }
  }

  private mutating func exit(_ worker: WorkerModel, _ end: WorkerEnd) {
    deadLeases += worker.leases.map { (worker.id, $0) }
    let decoding = Bool.random(using: &random) ? worker.fetches.first?.url : nil
    cluster.exit(worker.id, end, decoding: decoding)
  }

  private mutating func answerLate() {
    guard let (worker, lease) = deadLeases.randomElement(using: &random) else { return }
    let result = FetchResults.Result(lease: lease, outcome: .fetchedSample)
    let count = cluster.scheduler.lateAnswerCount
    cluster.handle(.workerFinished(worker, [result]))
    if cluster.scheduler.lateAnswerCount != count + 1 { cluster.fail("a late answer was taken") }
  }
}
