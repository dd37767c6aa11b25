package import ImgModel
import ImgWire

/// The heart of the coordinator: which URL is looked up, fetched and decoded next, by which worker,
/// and what becomes of it. Pure: events in, effects out, time passed in. After every event it starts
/// all that may start at that moment. Its files are the stages of a URL's way: `Scheduler+Lookups.swift`,
/// `+Fetches`, `+Decodes` and `+Outcomes`.
///
/// A URL's way through it:
///
///     line of a job ─┐              (uploaded: awaitingDecode at once)
///                    ├─► awaitingLookup ─► lookingUp ─┬─ hit ──────────────────────────► outcome
///     viewer ────────┘        ▲                       ├─ file ─► awaitingFile ─► awaitingDecode
///                             │                       ├─ miss ─► behindEarlierLines        ▲
///                             │                       │            └─► awaitingTransfer    │
///                             │                       │              └─► transferring      │
///                      its worker died                │                       ▼            │
///                                                     └─ original             │            │
///                                                          └─► awaitingDecode ─► decoding ─┘
///
/// Tables with private storage hold the state, and their methods return what has changed.
/// ``LeaseTable`` alone decides who holds a lease; the items, transfers and workers note the same
/// lease, each for its own order. The scheduler moves items from one table to another. Its
/// functions call each other in one direction only: a source that another change affects is noted,
/// and ``reviewSources()`` looks at it once the event has been taken in, before anything begins.
///
/// Invariants: a work item has at most one lease; a lease belongs to one ready worker; a line
/// without an outcome is in hand, deferred, or not yet read; a URL has at most one transfer that
/// can be joined.
///
/// Its tables hold thousands of things, and nobody reads them by way of a copy of all: it has no copies.
package struct Scheduler: ~Copyable {
  package private(set) var limits: Limits
  package internal(set) var jobs = JobTable()
  package internal(set) var viewers = ViewerTable()
  package internal(set) var work = WorkTable()
  package internal(set) var fetches: Fetches
  package internal(set) var workers: WorkerTable
  /// The items for which bodies have come in part: their bytes are in no outcome yet.
  var partlyFetched: Set<WorkID> = []
  var store = StoreHealth()
  package internal(set) var crashBudget = CrashBudget()
  var pinRoom = PinRoom()
  /// The viewers and jobs that let a delay pass before anything begins, and until when.
  var delays = PriorityQueue<Delayed, Instant>()
  /// The waiters that wait for a limited time, and until when.
  package internal(set) var timeouts = PriorityQueue<TimedWaiter, Instant>()
  package internal(set) var networks: ByRoute<NetworkHealth>
  /// Whether there are proxies, and some hosts are asked without them (`NO_PROXY`).
  let hasDirectHosts: Bool
  /// The outages whose beginning was told.
  var reportedOutages = ByRoute<NetworkHealth.Outage?>(nil)
  /// What was told of a slow line.
  var reportedLine = CongestionWindow()
  package internal(set) var clientFetches = ClientFetchTable()
  package internal(set) var fileReads = FileReadTable()
  var phase = Phase.working
  /// Results, aborted ones too, that came when the viewers they were for had left or moved on.
  package internal(set) var discardedLateCount = 0
  private var lastCommand: UInt64 = 0

  /// The moment of the event being handled.
  private(set) var now: Moment
  private(set) var timeline: Timeline
  var effects: [Effect] = []

  enum Phase {
    case working
    /// What runs is finished, unless limits of bandwidth hold it, and nothing else begins.
    case draining
    /// Nothing runs any more, and the driver knows.
    case drained
  }

  /// What lets a delay pass before anything begins.
  enum Delayed: QueueKey {
    typealias Positions = [Delayed: Int]

    case viewer(ViewerID)
    case job(JobID)
  }

  /// A waiter at an item.
  package struct TimedWaiter: QueueKey {
    package typealias Positions = [TimedWaiter: Int]

    package let item: WorkID
    package let who: Waiter.Who

    package init(item: WorkID, who: Waiter.Who) {
      self.item = item
      self.who = who
    }
  }

  /// - Parameters:
  ///   - limits: `workers` is at least 1.
  ///   - seed: of the jitter of retries.
  ///   - proxies: of the workers.
  package init(
    limits: Limits, seed: UInt64, proxies: ProxySettings = .none, at now: Moment
  ) {
    self.limits = limits
    hasDirectHosts = !proxies.isEmpty && !proxies.directHosts.isEmpty
    self.now = now
    timeline = Timeline(at: now)
    workers = WorkerTable(workerCount: limits.workers)
    fetches = Fetches(limits, seed: seed)
    networks = ByRoute(NetworkHealth(limits))
  }

  /// Takes in what happened and says what to do about it.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    self.now = now
    timeline.update(now)
    take(event)
    endDelays()
    endTimeouts()
    endClientFetches()
    endFileReads()
    endLookupWaits()
    fetches.noteDueRetries(at: now.instant)
    reviewNetworks()
    let timeout = limits.transferTimeout
    effects += fetches.refuseOverdueRedirects(after: timeout, at: now.instant)
    fetches.queue.wake(at: now.instant)
    reviewSources()
    dispatch()
    effects += viewers.requestUpdates(in: fetches.leases)
    defer { effects = [] }
    return effects
  }

  private mutating func take(_ event: Event) {
    switch event {
    case .began: follow(workers.startAll(at: now.instant))
    case .timePassed: follow(workers.timePassed(at: now.instant))

    case .jobAccepted(let record): acceptJob(record)
    case .linesRead(let request, let page): effects += jobs.take(page, for: request)
    case .journaled(let operations): operations.forEach { journaled($0) }
    case .changeRequested(let job, let change): changeJob(job, change)
    case .changeRefused(let job, let change): withdrawChange(change, of: job)
    case .limitsChanged(let change): changeLimits(change)

    case .viewerArrived(let viewer, let request): viewerArrived(viewer, request)
    case .viewerUploaded(let viewer, let picture, let options):
      viewerUploaded(viewer, picture, options: options)
    case .readerArrived(let reader, let job): readerArrived(reader, for: job)
    case .viewerFetched(let viewer, let body): viewerFetched(viewer, body)
    case .viewerFailedToFetch(let viewer, let failure): viewerFailedToFetch(viewer, failure)
    case .viewerLeft(let viewer): viewerLeft(viewer)
    case .failuresForgotten(let urls): fetches.sources.forgetFailures(of: urls)

    case .fromWorker(let worker, let message, let file):
      take(message, with: file, from: worker)
    case .workerObserved(let worker, let observation): observed(observation, of: worker)
    case .workerExiting(let worker): workers.beginExit(of: worker)
    case .workerExited(let worker, let end, let transferring):
      workerExited(worker, end: end, transferring: transferring)

    case .drainRequested: drain()
    }
  }

  /// - Parameter file: as of ``Event/fromWorker(_:_:file:)``.
  private mutating func take(
    _ message: WorkerMessage, with file: MemoryFileID?, from worker: WorkerID
  ) {
    precondition(message.announcesFile == (file != nil), "a file comes with what announces it")
    switch message {
    case .ready(let credits): workerReady(worker, credits: credits)
    case .refused(let reason): workers.refused(worker, reason: reason)
    case .lookedUp(let results): lookedUp(results, by: worker)
    case .hostUpdates(let updates): updateHosts(updates, by: worker)
    case .redirected(let redirections): redirected(redirections, by: worker)
    case .transferred(let leases): transferred(leases, by: worker)
    case .released(let leases): released(leases, by: worker)
    case .unpinned(let leases): unpinned(leases, by: worker)
    case .finished(let results): finished(results, by: worker)
    case .uncached(let result): file.map { madeUncached(result, in: $0, by: worker) }
    case .preview(let preview): file.map { madePreview(preview, in: $0, by: worker) }
    case .progress(let entries): reportProgress(entries, by: worker)
    case .store(let report): storeReported(report)
    case .hello, .startDecoder, .endDecoder, .sandboxed: break
    }
  }

  private mutating func changeLimits(_ change: LimitChange) {
    limits.apply(change)
    fetches.queue.apply(limits, at: now.instant)
    divideLines()
  }

  /// A person asks for something now, see ``HostHealth``.
  mutating func newCommand() -> CommandID {
    lastCommand += 1
    return CommandID(rawValue: lastCommand)
  }

  /// Turns what the supervisor wants into effects.
  mutating func follow(_ verdicts: [Supervisor.Verdict]) {
    effects += verdicts.map { verdict in
      switch verdict {
      case .spawn(let worker, let number): .spawn(worker, number: number)
      case .kill(let worker): .kill(worker)
      case .noWorkers(let reason): .noWorkers(reason: reason)
      }
    }
  }

  package var isDraining: Bool { phase != .working }

  /// When the scheduler wants to hear `timePassed`; `nil` when only other events can change
  /// anything.
  package var deadline: Instant? {
    workers.deadline.orLess(delays.first?.priority).orLess(timeouts.first?.priority)
      .orLess(clientFetches.deadline).orLess(fileReads.deadline)
      .orLess(fetches.deadline(isDraining: isDraining))
      .orLess(isDraining ? nil : networks[.direct].deadline(after: now.instant))
      .orLess(isDraining ? nil : networks[.proxied].deadline(after: now.instant))
  }

  /// Whether nothing runs and nothing waits except paused jobs, and lines whose files no client reads.
  package var isIdle: Bool {
    // The jobs last, because this is asked several times a turn and mostly ends before.
    fetches.leases.isEmpty && viewers.isEmpty && jobs.unrecordedCount == 0
      && work.revalidationCount == 0
      && jobs.all.allSatisfy { ($0.isPaused || lacksReader($0)) && !$0.isEnding }
  }
}

/// Assigning work: called after every event, does all that the limits permit at that moment.
extension Scheduler {
  /// Outcomes that may wait for the journal. Beyond it nothing starts, so that a journal that
  /// cannot write (a full disk) holds the work up instead of filling the memory.
  package static let unrecordedMaximum = 16_384

  mutating func dispatch() {
    // They have begun, so that they go on during a drain, too.
    dispatchRedirected()
    reviewSources()
    guard !isDraining else { return reportDrainedWhenDone() }
    guard jobs.unrecordedCount < Self.unrecordedMaximum else { return }
    // Transfers first: they make room for lines.
    dispatchFetches()
    dispatchLookups()
    // A line that was just taken up may join an item whose other line waits behind lines of another
    // job. That item may start now.
    while isHeldLineStartable, dispatchFetches() { dispatchLookups() }
    dispatchFileReads()
  }

  /// Whether a line that waits behind others may begin at once.
  private var isHeldLineStartable: Bool {
    let share = transferShare
    return fetches.queue.hasSlot && workers.contains { $0.takesFetches(share: share) }
      && nextHeldLine() != nil
  }

  /// Each worker's share of the cluster's transfers; a few at least, so that a worker to which a
  /// list's URLs belong by chance can take them.
  package var transferShare: Int {
    max((limits.transfers + limits.workers - 1) / limits.workers, 8)
  }
}

/// Says when a measured moment is by the clock on the wall. It stays the same text for the same
/// moment, until that clock is set.
struct Timeline {
  private var anchor: Moment

  /// The clocks are read one after the other, and slewed.
  private static let tolerance = Duration.seconds(1)

  init(at now: Moment) {
    anchor = now
  }

  mutating func update(_ now: Moment) {
    let drift = wall(now.instant).duration(to: now.wall)
    if max(drift, .zero - drift) > Self.tolerance { anchor = now }
  }

  func wall(_ instant: Instant) -> WallTime {
    anchor.wall.advanced(by: instant - anchor.instant)
  }
}

/// A drain: what runs is finished, except transfers that limits of bandwidth hold, and nothing else begins.
extension Scheduler {
  /// Viewers for whom nothing runs hear at once that nothing will.
  mutating func drain() {
    if phase == .working { phase = .draining }
    workers.stopRespawning()
    for viewer in viewers.ids {
      if case .waiting(_, let item) = viewers[viewer], work[item]?.stage.lease != nil { continue }
      viewerLeft(viewer)
      answerStopping(viewer)
    }
  }

  /// Gives up a transfer that limits of bandwidth hold, perhaps for very long. Its lines wait for the next start, as
  /// those that have not begun.
  mutating func cancelHeld(_ id: TransferID, by worker: WorkerID) {
    let leases = fetches.receiving(id, by: worker)?.leases ?? []
    for item in leases.compactMap({ fetches.leases[$0]?.item })
    where !work.item(item).waiters.isEmpty {
      dismissViewers(of: item, with: Self.stopping) { _ in true }
      leave(item) { _ in true }
    }
  }

  /// Once no lease is left and every outcome and every end of a job is durable, the workers may
  /// leave.
  mutating func reportDrainedWhenDone() {
    guard phase == .draining, fetches.leases.isEmpty, jobs.unrecordedCount == 0,
      !jobs.all.contains(where: \.isEnding)
    else { return }
    phase = .drained
    effects += workers.ids.map { .send(.drain, to: $0) }
    effects.append(.drained)
  }
}
