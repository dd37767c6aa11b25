import ImgCore
import ImgWire
import Testing

/// A scheduler with everything around it that a test decides: a clock that stands still, a journal
/// in memory, and workers that answer when they are told to. After every event the invariants are
/// checked.
final class ClusterModel {
  var scheduler: Scheduler
  var now = Moment(instant: .now, wall: WallTime(rawValue: 1_000_000))

  var journal = JournalModel()
  /// Whether journal effects wait in `journalQueue` until ``deliverJournal(_:)``.
  var isJournalHeld = false
  var journalQueue: [Effect] = []

  var workers: [WorkerID: WorkerModel] = [:]
  let credits: Credits
  /// Whether a spawned worker is ready at once.
  var areWorkersReadyAtOnce = true
  private var becomingReady: [WorkerID] = []
  /// Workers that the scheduler wanted ended and that have not exited.
  var killed: [WorkerID] = []
  var spawnCount = 0

  /// URLs in the shared store, and how long they are kept.
  var store: [String: Int64] = [:]
  /// URLs in the order in which their look-ups and their fetches began.
  var lookupStarts: [String] = []
  var fetchStarts: [String] = []

  var lastViewer: UInt64 = 0
  var lastJob: UInt64 = 0
  var waitingViewers: Set<ViewerID> = []
  var answers: [ViewerID: Outcome] = [:]
  var endedJobs: [JobID: JobRecord] = [:]
  var drainedCount = 0
  var giveUpReasons: [String] = []

  /// Said in every failure message; a random test puts its seed here.
  let label: String
  /// Off where the state is so large that checking all of it takes too long.
  var areInvariantsChecked = true

  init(
    workers: Int = 1, transfers: Int = 64, perHost: Int = 8,
    credits: Credits = Credits(lookups: 256, fetches: 64), label: String = ""
  ) {
    var limits = Limits()
    limits.workers = workers
    limits.transfers = transfers
    limits.transfersPerHost = perHost
    scheduler = Scheduler(limits: limits)
    self.credits = credits
    self.label = label
  }

  /// A cluster whose workers are ready.
  static func started(
    workers: Int = 1, transfers: Int = 64, perHost: Int = 8,
    credits: Credits = Credits(lookups: 256, fetches: 64)
  ) -> ClusterModel {
    let cluster = ClusterModel(
      workers: workers, transfers: transfers, perHost: perHost, credits: credits)
    cluster.handle(.began)
    return cluster
  }

  // MARK: - Events in

  func handle(_ event: Event) {
    process(event)
    while true {
      if !becomingReady.isEmpty {
        ready(becomingReady.removeFirst())
      } else if !isJournalHeld, !journalQueue.isEmpty {
        deliverJournal(1)
      } else {
        return
      }
    }
  }

  /// Carries out what waits in the journal's queue, in its order.
  func deliverJournal(_ count: Int = .max) {
    var remaining = count
    while remaining > 0, !journalQueue.isEmpty {
      remaining -= 1
      if let reply = journal.carryOut(journalQueue.removeFirst()) { process(reply) }
    }
  }

  func ready(_ worker: WorkerID) {
    guard workers[worker] != nil else { return }
    workers[worker]?.isReady = true
    process(.workerReady(worker, credits))
  }

  func fail(_ message: String, after event: Event? = nil) {
    let context = event.map { "; after \($0)" } ?? ""
    Issue.record("\(label) \(message)\(context)")
  }

  private func process(_ event: Event) {
    for effect in scheduler.handle(event, at: now) { carryOut(effect) }
    if areInvariantsChecked { checkInvariants(after: event) }
  }

  // MARK: - Effects out

  private func carryOut(_ effect: Effect) {
    switch effect {
    case .send(let message, let worker): deliver(message, to: worker)
    case .spawn(let worker, let slot):
      spawnCount += 1
      workers[worker] = WorkerModel(id: worker, slot: slot)
      if areWorkersReadyAtOnce { becomingReady.append(worker) }
    case .kill(let worker):
      if killed.contains(worker) || workers[worker] == nil { fail("\(worker) killed twice") }
      killed.append(worker)
    case .readLines, .journal:
      journalQueue.append(effect)
    case .answer(let viewer, let outcome):
      if waitingViewers.remove(viewer) == nil { fail("\(viewer) answered without waiting") }
      answers[viewer] = outcome
    case .jobEnded(let record):
      if endedJobs.updateValue(record, forKey: record.id) != nil { fail("a job ended twice") }
    case .drained: drainedCount += 1
    case .giveUp(let reason): giveUpReasons.append(reason)
    }
  }

  private func deliver(_ message: CoordinatorMessage, to id: WorkerID) {
    guard var worker = workers[id], worker.isReady else {
      return fail("a message to \(id), which is not ready: \(message)")
    }
    switch message {
    case .welcome: fail("welcomes are the driver's")
    case .lookup(let batch):
      lookupStarts += batch.items.map(\.url)
      worker.lookups.append(batch)
    case .fetch(let batch):
      fetchStarts += batch.items.map(\.url)
      worker.fetches += batch.items.map {
        WorkerModel.Fetch(
          lease: $0.lease, url: $0.url, expireAfterMilliseconds: batch.expireAfterMilliseconds)
      }
    case .cancel(let list):
      if !Set(worker.fetches.map(\.lease)).isSuperset(of: list.leases) {
        fail("cancels what the worker does not hold")
      }
      worker.cancelled += list.leases
    case .drain:
      if worker.isDraining { fail("told to drain twice") }
      worker.isDraining = true
    }
    if worker.lookups.flatMap(\.items).count > credits.lookups { fail("too many look-ups") }
    if worker.fetches.count > credits.fetches { fail("too many fetches") }
    workers[id] = worker
  }
}
