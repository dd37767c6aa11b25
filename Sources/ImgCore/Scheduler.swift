package import ImgModel

/// The heart of the coordinator: which URL is looked up, fetched and decoded next, by which worker,
/// and what becomes of it. Pure: events in, effects out, time passed in. How the next URL is chosen
/// is in `NextURL.swift`.
///
/// A URL's way through it:
///
///     line of a job ─┐              (uploaded: awaitingDecode at once)
///                    ├─► awaitingLookup ─► lookingUp ─┬─ hit ──────────────────────────► outcome
///     viewer ────────┘        ▲                       ├─ miss ─► missed                    ▲
///                             │                       │            └─► awaitingTransfer    │
///                             │                       │              └─► transferring      │
///                      its worker died                │                       ▼            │
///                                                     └─ original             │            │
///                                                          └─► awaitingDecode ─► decoding ─┘
///
/// Invariants: a work item has at most one lease; a lease belongs to one ready worker; every line
/// of a job waits in the journal, in a window, or at exactly one item, until its outcome is
/// durable; a URL has at most one transfer that can be joined.
package struct Scheduler {
  package internal(set) var limits: Limits
  package internal(set) var supervisor: Supervisor
  var workers: [WorkerID: ReadyWorker] = [:]
  var leases: [LeaseID: Lease] = [:]

  var items: [WorkID: WorkItem] = [:]
  var itemsByKey: [WorkItem.Key: WorkID] = [:]
  /// Those for which nobody waits.
  var revalidationCount = 0
  var sources: [SourceID: Source] = [:]
  var sourcesByKey: [Source.Key: SourceID] = [:]
  /// The sources whose items or transfers have changed, see ``reviewSources()``.
  var sourcesToReview = TurnQueue<SourceID>()
  var transfers: [LeaseID: Transfer] = [:]
  /// Items of viewers that wait for their look-up, and items that a dead worker held: before any
  /// list.
  var urgentLookups = PriorityQueue<WorkID, Urgency>()
  /// The look-ups that hold later lines up, and until when.
  var lookupDeadlines = PriorityQueue<LeaseID, ContinuousClock.Instant>()
  /// The jobs whose lines wait behind others for a slot.
  var jobsWithMisses: Set<JobID> = []
  var transferQueue: TransferQueue
  /// The transfers that wait for a slot where their redirects lead, and until when.
  var redirectDeadlines = PriorityQueue<LeaseID, ContinuousClock.Instant>()
  /// The sources that wait before they are tried again, and until when.
  var backoffs = PriorityQueue<SourceID, ContinuousClock.Instant>()
  var jitter: Jitter
  var rememberedFailures: RememberedFailures
  /// Items whose URL's original is in the store and waits for a decoder.
  var originals = PriorityQueue<WorkID, Urgency>()

  var jobs: [JobID: ActiveJob] = [:]
  var turns = JobTurns()
  /// Lines without an outcome that each job may have in hand.
  var linesInHandPerJob = Self.linesInHandMaximum
  /// The turn served last, by priority, see ``Urgency/turn``.
  var turnsServed: [Int: UInt64] = [:]
  var viewers: [ViewerID: Viewer] = [:]
  var viewersByName: [String: ViewerID] = [:]
  /// When viewers that wait are told why, and what they were told last.
  var waitReports = PriorityQueue<ViewerID, ContinuousClock.Instant>()
  var toldWaits: [ViewerID: Wait] = [:]
  /// Who lets a delay pass before anything begins, and until when.
  var delays = PriorityQueue<Delayed, ContinuousClock.Instant>()

  package internal(set) var isDraining = false
  var hasReportedDrained = false
  /// Outcomes sent to the journal and not yet durable.
  var unrecordedCount = 0
  /// Answers for leases that nobody holds any more: late, and dropped.
  package internal(set) var lateAnswerCount = 0
  /// Results, aborted ones too, that came when the viewers they were for had left or moved on.
  package internal(set) var discardedLateCount = 0
  var storeHealth = StoreHealth()
  var storeCrashes = StoreCrashes()

  /// The moment of the event being handled.
  var now: Moment
  var timeline: Timeline
  var lastLease: UInt64 = 0
  var lastItem: UInt64 = 0
  var lastTicket: UInt64 = 0
  var lastCommand: UInt64 = 0
  var effects: [Effect] = []

  /// - Parameters:
  ///   - limits: `workers` is the number of slots, at least 1.
  ///   - seed: of the jitter of retries.
  package init(limits: Limits, seed: UInt64, at now: Moment) {
    self.limits = limits
    jitter = Jitter(seed: seed)
    self.now = now
    timeline = Timeline(at: now)
    supervisor = Supervisor(slotCount: limits.workers)
    transferQueue = TransferQueue(limits)
    rememberedFailures = RememberedFailures(limits)
  }

  /// Takes in what happened and says what to do about it.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    self.now = now
    timeline.update(now)
    switch event {
    case .began: follow(supervisor.startAll(at: now.instant))
    case .timePassed: follow(supervisor.timePassed(at: now.instant))

    case .jobAccepted(let record): acceptJob(record)
    case .linesRead(let request, let page): linesRead(page, for: request)
    case .journaled(let operations): operations.forEach { journaled($0) }
    case .changeRequested(let job, let change): changeJob(job, change)
    case .changeRefused(let job, let change): withdrawChange(change, of: job)
    case .limitsChanged(let change): changeLimits(change)

    case .viewerArrived(let viewer, let name, let url, let options, let bypassesStore):
      viewerArrived(viewer, name: name, url: url, options: options, bypassesStore: bypassesStore)
    case .viewerUploaded(let viewer, let picture, let options):
      viewerUploaded(viewer, picture, options: options)
    case .viewerLeft(let viewer): viewerLeft(viewer)
    case .failuresForgotten(let urls): rememberedFailures.forget(urls: urls)

    case .workerReady(let worker, let credits): workerReady(worker, credits: credits)
    case .workerRefused(_, let reason): supervisor.workerRefused(reason: reason)
    case .workerLookedUp(let worker, let results): lookedUp(results, by: worker)
    case .workerReportedHosts(let worker, let notices): noticed(notices, by: worker)
    case .workerRedirected(let worker, let redirections): redirected(redirections, by: worker)
    case .workerTransferred(let worker, let leases): transferred(leases, by: worker)
    case .workerReleased(let worker, let leases): lostBodies(leases, by: worker)
    case .workerFinished(let worker, let results): finished(results, by: worker)
    case .workerMadeUncached(let worker, let result, let attachment):
      uncached(result, in: attachment, by: worker)
    case .workerObserved(let worker, let observation): observed(observation, of: worker)
    case .workerExited(let worker, let end, let decoding, let transferring):
      workerExited(worker, end: end, decoding: decoding, transferring: transferring)

    case .drainRequested: drain()
    }
    endDelays()
    endLookupWaits()
    endBackoffs()
    endRedirectWaits()
    transferQueue.wake(at: now.instant)
    dispatch()
    defer { effects = [] }
    return effects
  }

  /// When the scheduler wants to hear `timePassed`; `nil` when only other events can change
  /// anything.
  package var deadline: ContinuousClock.Instant? {
    let starts = isDraining ? [] : [backoffs.first?.priority, lookupDeadlines.first?.priority]
    let slots =
      isDraining && redirectDeadlines.isEmpty
      ? [] : [transferQueue.deadline, redirectDeadlines.first?.priority]
    return ([supervisor.deadline, delays.first?.priority] + starts + slots).compactMap(\.self).min()
  }

  /// Whether nothing runs and nothing waits but what a person has paused.
  package var isIdle: Bool {
    jobs.values.allSatisfy { $0.isPaused && !$0.isEnding } && viewers.isEmpty && leases.isEmpty
      && unrecordedCount == 0 && revalidationCount == 0
  }
}
