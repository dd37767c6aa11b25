package import ImgModel
import ImgWire

/// What a worker does with its leases. Pure: events in, effects out, time passed in. It has no
/// clock, descriptor or thread, and sees no image bytes.
///
/// A lease's way through it, by its ``FetchTask/Stage``. First where each message of the coordinator
/// brings it:
///
///     fetch ──────────► transferring
///     attach ─────────► transferring      its URL is being fetched
///                       decoding          the body is in
///                       findingOriginal   the transfer is over
///                       waitingForRobots  then one of these
///     decode ─────────► decoding          a `data:` or `file:` URL
///                       findingOriginal   any other URL
///     decode_upload ──► decoding
///
/// Then what follows each stage:
///
///     transferring ────► decoding | revalidating (304) | failing
///     findingOriginal ─► decoding
///     revalidating ────► renewing ─► finished
///                        decoding, of the original
///     decoding ────────► storing ──► finished
///                                    delivering, if the store refuses the thumbnail
///                        delivering, if it is not to be stored ─► uncached
///                        finished, if it fails
///     failing ─────────► finished, with the failure or a stale thumbnail
///
/// A lease whose body or original is missing is released at any of these stages: the coordinator
/// requeues it.
package struct WorkerMachine {
  var tasks = FetchTasks()
  var transfers = SharedTransfers()
  var robots = RobotsCache()
  var brokenTransfers = BrokenTransfers()
  var report = WorkerReport()
  /// Whether a preview is being made.
  var isPreviewUnderWay = false
  /// When a turn reports the progress of bodies; `nil` while nothing is new.
  package internal(set) var progressDeadline: ContinuousClock.Instant?
  /// When transfers are measured next; `nil` before the first one.
  var nextMeasure: ContinuousClock.Instant?
  private var isDraining = false

  /// The moment of the event being handled.
  private(set) var now: Moment
  /// The effects of the event being handled.
  var effects: [Effect] = []

  package init(at now: Moment) {
    self.now = now
  }

  /// The leases that have no result yet.
  package var leaseCount: Int { tasks.count }

  /// Whether the next `turnEnded` has something to tell the coordinator.
  package var hasReport: Bool { !report.isEmpty }

  /// Whether the next `turnEnded` may be left out, for a few milliseconds: what it would tell the
  /// coordinator are results for lists only, while others are on their way. They share a message.
  package var mayReportLater: Bool {
    report.mayWait && !isProgressDue && !tasks.isEmpty && !isDraining
  }

  /// Takes in what happened and says what to do about it.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    self.now = now
    switch event {
    case .received(let message): receive(message)

    case .lookedUp(let results): effects.append(.send(.lookedUp(results)))
    case .originalFound(let lease, let isThere): originalFound(lease, isThere)
    case .staleFound(let lease, let thumbnail): staleFound(lease, thumbnail)
    case .renewalFound(let lease, let finding): renewalFound(lease, finding)
    case .stored(let lease, let end): stored(lease, end)
    case .unpinned(let leases): unpinned(leases)
    case .storeReported(let report): effects.append(.send(.store(report)))
    case .partialStored(let transfer): partialStored(transfer)

    case .robotsRead(let url, let known): robotsRead(of: url, known)
    case .robotsFetched(let origin, let answer): robotsFetched(origin, answer)
    case .robotsStored(let origin): robotsStored(origin)

    case .redirected(let transfer, let redirect): redirected(transfer, redirect)
    case .transferEnded(let transfer, let end): transferEnded(transfer, end)

    case .decoded(let lease, let end, let time): decoded(lease, end, after: time)

    case .bodyGrew(let transfer, let progress): bodyGrew(transfer, to: progress)
    case .previewed(let order, let end): previewed(order, end)
    case .measured(let measures): updatePaces(measures)

    case .uncachedSent(let lease): remove(lease)
    case .uncachedFailed(let lease, let detail): uncachedFailed(lease, detail)

    case .turnEnded(let updates, let decodeQueueCount):
      reportProgress()
      effects += report.take(adding: updates, decodeQueueCount: decodeQueueCount)
    }
    if isDraining, tasks.isEmpty, report.isEmpty { effects.append(.stop) }
    let produced = effects
    effects = []
    return produced
  }

  private mutating func receive(_ message: CoordinatorMessage) {
    switch message {
    case .lookup(let batch): effects.append(.lookUp(batch))
    case .fetch(let batch): startTransfers(for: batch)
    case .attach(let batch): attachAll(of: batch)
    case .decode(let batch): decodeAll(of: batch)
    case .decodeUpload(let upload): decodeUpload(upload)
    case .followRedirects(let list): list.transfers.forEach { slotGranted($0) }
    case .preview(let list): list.leases.forEach { want(.previews, of: $0) }
    case .progress(let list): list.leases.forEach { want(.progress, of: $0) }
    case .cancel(let list): list.leases.forEach { cancel($0) }
    case .sweep(let sweep): effects.append(.sweep(sweep.moment))
    case .unpin(let list): effects.append(.unpin(list.jobs))
    case .drain: isDraining = true
    // The driver's.
    case .welcome, .decoderExited: break
    }
  }

  // MARK: - The end of a lease

  /// The lease has its result.
  ///
  /// - Parameter failureBehind: what its transfer failed with, if the outcome is from the store.
  mutating func finish(
    _ lease: LeaseID, with outcome: Outcome, wasRedirected: Bool = false,
    failureBehind: Failure? = nil
  ) {
    let task = remove(lease)
    // What took its time with a picture from the cache was another request's.
    if task.order.isUrgent { report.hasUrgentResult = true }
    let isTimed = if case .done(_, fromCache: true, _) = outcome { false } else { true }
    report.finished.append(
      FetchResults.Result(
        lease: lease, outcome: outcome.fetched(task.bytesFetched), wasRedirected: wasRedirected,
        timings: isTimed && task.timings != Timings() ? task.timings : nil,
        failureBehind: failureBehind))
  }

  /// The lease ends without a result, because the body that it needs is not there.
  mutating func release(_ lease: LeaseID) {
    remove(lease)
    report.released.append(lease)
  }

  @discardableResult
  mutating func remove(_ lease: LeaseID) -> FetchTask {
    detach(lease)
    return tasks.remove(lease)
  }

  /// The lease no longer needs the body of its transfer, if it is attached to one. The last lease
  /// that needs the body releases it.
  mutating func detach(_ lease: LeaseID) {
    if let transfer = transfers.detach(lease) { effects.append(.releaseBody(transfer)) }
  }
}
