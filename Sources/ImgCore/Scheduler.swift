package import ImgWire

/// The heart of the coordinator: which URL is looked up, fetched and decoded next, by which worker,
/// and what becomes of it. Pure: events in, effects out, time passed in.
///
/// A URL's way through it:
///
///     line of a job ─┐                ┌── hit ────────────────────────────────┐
///                    ├─► awaitingLookup ─► lookingUp ─► awaitingTransfer       ├─► outcome
///     viewer ────────┘        ▲                │ miss        │                 │
///                             └── worker died ─┴── transferring ─► decoding ───┘
///
/// Invariants: a work item has at most one lease; a lease belongs to one ready worker; every line
/// of a job waits in the journal, in a window, or at exactly one item, until its outcome is
/// durable.
package struct Scheduler {
  /// A worker's hold on a work item.
  struct Lease {
    let item: WorkID
    let worker: WorkerID
  }

  let limits: Limits
  package internal(set) var supervisor: Supervisor
  var workers: [WorkerID: ReadyWorker] = [:]
  var leases: [LeaseID: Lease] = [:]

  var items: [WorkID: WorkItem] = [:]
  var itemsByKey: [WorkItem.Key: WorkID] = [:]
  /// Items of viewers that wait for their look-up, and items that a dead worker held: before any
  /// list.
  var urgentLookups = PriorityQueue<WorkID, Urgency>()
  var transferQueue: TransferQueue

  var jobs: [JobID: ActiveJob] = [:]
  var turns = JobTurns()
  var viewers: [ViewerID: WorkID] = [:]

  package internal(set) var isDraining = false
  var hasReportedDrained = false
  /// Outcomes sent to the journal and not yet durable.
  var unrecordedCount = 0
  /// Answers for leases that nobody holds any more: late, and dropped.
  package internal(set) var lateAnswerCount = 0

  var lastLease: UInt64 = 0
  var lastItem: UInt64 = 0
  var effects: [Effect] = []

  /// - Parameter limits: `workers` is the number of slots, at least 1.
  package init(limits: Limits) {
    self.limits = limits
    supervisor = Supervisor(slotCount: limits.workers)
    transferQueue = TransferQueue(
      limit: limits.transfers, limitPerHost: limits.transfersPerHost)
  }

  /// Takes in what happened and says what to do about it.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    switch event {
    case .began: follow(supervisor.startAll(at: now.instant))
    case .timePassed: follow(supervisor.timePassed(at: now.instant))

    case .jobAccepted(let record): acceptJob(record)
    case .linesRead(let job, let lines, let next): linesRead(lines, next: next, of: job, at: now)
    case .journaled(let operation): journaled(operation, at: now)
    case .cancelRequested(let job): cancelJob(job, at: now)

    case .viewerArrived(let viewer, let url, let options):
      viewerArrived(viewer, url: url, options: options, at: now)
    case .viewerLeft(let viewer): viewerLeft(viewer)

    case .workerReady(let worker, let credits): workerReady(worker, credits: credits)
    case .workerRefused(_, let reason): supervisor.workerRefused(reason: reason)
    case .workerLookedUp(let worker, let results): lookedUp(results, by: worker)
    case .workerTransferred(let worker, let leases): transferred(leases, by: worker)
    case .workerFinished(let worker, let results): finished(results, by: worker)
    case .workerObserved(let worker, let observation): observed(observation, of: worker)
    case .workerExited(let worker, let end, let decoding):
      workerExited(worker, end: end, decoding: decoding, at: now)

    case .drainRequested: drain()
    }
    dispatch(at: now)
    defer { effects = [] }
    return effects
  }

  /// When the scheduler wants to hear `timePassed`; `nil` when only other events can change
  /// anything.
  package var deadline: ContinuousClock.Instant? { supervisor.deadline }

  /// Whether nothing runs and nothing waits.
  package var isIdle: Bool {
    jobs.isEmpty && viewers.isEmpty && leases.isEmpty && unrecordedCount == 0
  }
}
