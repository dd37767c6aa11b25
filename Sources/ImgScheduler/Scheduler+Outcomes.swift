import ImgModel
import ImgWire

/// From a worker's result, or what else ends an item, to the answers of all that wait for it.
extension Scheduler {
  mutating func finished(_ ended: FetchResults, by worker: WorkerID) {
    workers.answered(worker, at: now.instant)
    workers.willEndFetches(
      ended.results.count, queueCount: ended.decodeQueueCount, share: transferShare, of: worker)
    for answer in ended.results {
      finished(answer, by: worker)
      // An item that waits for a lease joins a transfer before the last of its leases ends.
      reviewSources()
    }
  }

  private mutating func finished(_ answer: FetchResults.Result, by worker: WorkerID) {
    let result = answer.outcome == .cancelled ? fetches.refusedResult(answer) : answer
    let verdict = transferFailed(result, by: worker)
    transferFailedBehind(result, by: worker)
    let transfer = fetches.leases[result.lease]?.transfer.flatMap { fetches.transfers[$0] }
    guard let item = fetches.end(result.lease, of: worker, in: &workers, at: now.instant) else {
      return
    }
    noteDecode(of: work.item(item), result.outcome)
    switch result.outcome {
    case .failed(let failure, let byteCount):
      if result.isStoreDegraded { noteRefusal(failure.detail, isServed: false) }
      work.change(item) { $0.unreportedByteCount += byteCount }
      if byteCount > 0 { partlyFetched.insert(item) }
      // Viewers have the reason at once, and may ask again: a wait would show nothing more.
      if verdict == .held || verdict == .retried && (result.isUnconnected || result.isUnanswered) {
        let failure = networkFailure(failure, of: work.item(item).host)
        dismissViewers(of: item, with: failure) { _ in true }
        if work.item(item).waiters.isEmpty { discard(item) } else { routeMiss(item) }
        return
      }
      guard verdict == .retried, !work.item(item).waiters.isEmpty else {
        let last = lastFailure(failure, of: work.item(item), by: transfer)
        return complete(item, with: .failed(last), timings: result.timings)
      }
      routeMiss(item)
    case .done(_, fromCache: let isFromCache, _):
      if !isFromCache { noteStored() }
      complete(item, with: result.outcome, timings: result.timings)
    case .cancelled:
      complete(item, with: .cancelled, timings: result.timings)
    }
  }

  /// Tells all waiters, except late ones that want the thumbnail kept for longer: it is looked up
  /// once more for them, which keeps it for longer, as for a request that comes now.
  mutating func complete(_ id: WorkID, with outcome: Outcome, timings: Timings? = nil) {
    guard case .done(let thumbnail, let isFromCache, let byteCount) = outcome else {
      let ended = conclude(id)
      return tell(ended.waiters, outcome.fetched(ended.unreportedByteCount), timings)
    }
    let (departure, isOver) = work.change(id) { item in
      (item.serve(bytesFetched: byteCount), item.waiters.isEmpty)
    }
    discardedLateCount += departure.departedViewerCount
    let (stage, host) = work.read(id) { ($0.stage, $0.host) }
    countOut(departure.served, at: id, stage, host: host)
    if isOver { discard(id) } else { awaitLookup(id) }
    let told = Outcome.done(
      thumbnail, fromCache: isFromCache, bytesFetched: departure.bytesFetched)
    tell(departure.served, told, timings)
  }

  /// Ends items that wait, each with its failure.
  mutating func fail(_ failed: [(item: WorkID, failure: Failure)]) {
    let ended = failed.map { (item: conclude($0.item), failure: $0.failure) }
    // The last one is told first.
    for (item, failure) in ended.reversed() {
      tell(item.waiters, .failed(failure, bytesFetched: item.unreportedByteCount), nil)
    }
  }

  /// Forgets an item that has an outcome.
  ///
  /// - Returns: the item, whose waiters are told the outcome.
  @discardableResult
  mutating func conclude(_ id: WorkID) -> WorkItem {
    let ending = work.item(id)
    countOut(ending.waiters, of: ending)
    let item = discard(id)
    discardedLateCount += item.departedViewerCount
    return item
  }

  /// Forgets an item that has no lease.
  @discardableResult
  mutating func discard(_ id: WorkID) -> WorkItem {
    let item = work.remove(id)
    partlyFetched.remove(id)
    if let source = item.source { fetches.remove(item.id, from: source, at: now.instant) }
    if let picture = item.picture { effects.append(.release(picture.file)) }
    fileReads.end(item.id)
    if let body = item.body, clientFetches.leave(body.file) { effects.append(.release(body.file)) }
    return item
  }

  /// The bytes were fetched for the first waiter; those that joined cost the origin nothing.
  private mutating func tell(_ waiters: [Waiter], _ outcome: Outcome, _ timings: Timings?) {
    var share = outcome
    for waiter in waiters {
      switch waiter.who {
      case .line(let job, let index):
        record(share, job: job, index: index)
      case .viewer(let viewer):
        viewers.remove(viewer)
        effects.append(.answer(viewer, share, timings))
      case .revalidation:
        break
      }
      share = outcome.withoutBytes
    }
  }

  /// Sends an outcome to the journal; the line counts as running until it is durable.
  mutating func record(_ outcome: Outcome, job id: JobID, index: Int) {
    let isFirst = jobs.beginRecording(outcome, of: id, at: now.wall)
    if isFirst { effects.append(.journal(.start(id, at: now.wall))) }
    let counted = jobs.change(id) { $0.counted(outcome, of: index) }
    effects.append(.journal(.record(id, index: index, counted)))
  }

  mutating func journaled(_ operation: JournalOperation) {
    switch operation {
    case .record(let id, let index, let outcome):
      effects += jobs.endRecording(of: index, outcome, of: id, at: now)
    case .finish(let id, let moment):
      end(id) { $0.finish(at: moment) }
    case .change(let id, let change, let moment):
      changeIsDurable(change, of: id, at: moment)
    case .createJob, .appendURLs, .seal, .discard, .start:
      break
    }
  }

  /// A job's end is durable.
  mutating func end(_ id: JobID, _ apply: (inout JobRecord) -> Void) {
    guard let job = jobs.remove(id) else { return }
    delays.remove(.job(id))
    divideLines()
    var record = job.record
    apply(&record)
    effects.append(.jobEnded(record))
  }

  // MARK: - Leaving

  /// Waiters leave an item. The last one to leave ends it: at once when it waits, through its worker
  /// when it runs.
  ///
  /// - Precondition: the item has not ended.
  mutating func leave(_ id: WorkID, where isLeaving: (Waiter) -> Bool) {
    let viewerCount = remove(from: id, where: isLeaving).count { $0.viewer != nil }
    work.change(id) { $0.departedViewerCount += viewerCount }
    continueOrEnd(id)
  }

  /// Some of the waiters of an item are gone. Without any, it ends.
  ///
  /// - Precondition: the item has not ended.
  mutating func continueOrEnd(_ id: WorkID) {
    let item = work.item(id)
    if !item.waiters.isEmpty { return enqueue(id) }
    // Later requests start from the beginning: an item that is being aborted cannot be joined.
    work.close(id)
    if item.stage.lease == nil { discard(id) } else { abort(item) }
  }

  /// Takes waiters off an item. Their lines go back to their lists.
  @discardableResult
  mutating func remove(from id: WorkID, where isLeaving: (Waiter) -> Bool) -> [Waiter] {
    let updates = work.item(id).updates
    let leaving = work.change(id) { $0.remove(where: isLeaving) }
    guard !leaving.isEmpty else { return [] }
    noteUpdates(of: id, after: updates)
    let item = work.item(id)
    countOut(leaving, of: item)
    for waiter in leaving {
      guard case .line(let job, let index) = waiter.who else { continue }
      effects += jobs.sendBack(index, startTag: waiter.startTag, host: item.host, of: job)
    }
    return leaving
  }

  /// Counts the lines among `waiters` out of their jobs' numbers, at the item's stage.
  ///
  /// All that no longer waits there comes by here, so that its time and its
  /// client's fetch end, too.
  private mutating func countOut(_ waiters: [Waiter], of item: WorkItem) {
    countOut(waiters, at: item.id, item.stage, host: item.host)
  }

  private mutating func countOut(
    _ waiters: [Waiter], at id: WorkID, _ stage: WorkItem.Stage, host: String
  ) {
    for waiter in waiters {
      if waiter.timesOutAt != nil { timeouts.remove(TimedWaiter(item: id, who: waiter.who)) }
      if waiter.offersFetch, let viewer = waiter.viewer { endClientFetch(by: viewer) }
    }
    effects += jobs.count(
      waiters, at: id, host: host, by: StageNumbers(stage) * -1, at: now.wall)
  }

  /// Answers viewers of an item, which stays, also without waiters.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  mutating func dismissViewers(
    of id: WorkID, with failure: Failure, where isDismissed: (Waiter) -> Bool
  ) -> Bool {
    let dismissed = remove(from: id) { $0.viewer != nil && isDismissed($0) }
    guard !dismissed.isEmpty else { return false }
    let byteCount = work.change(id) { $0.takeUnreportedByteCount() }
    tell(dismissed, .failed(failure, bytesFetched: byteCount), nil)
    return true
  }

  // MARK: - Timeouts

  /// The item is fetched or decoded from now on, so that the time of its lines begins.
  mutating func beginTimes(ofLinesAt id: WorkID) {
    guard work.item(id).waiters.contains(where: \.isUntimed) else { return }
    let waiters = work.change(id) { [now] item in
      item.changeWaiters { $0.beginTime(at: now.instant) }
      return item.waiters
    }
    noteTimeouts(of: waiters, at: id)
  }

  /// Notes when waiters have waited long enough.
  mutating func noteTimeouts(of waiters: [Waiter], at id: WorkID) {
    for waiter in waiters {
      guard let end = waiter.timesOutAt else { continue }
      timeouts.set(TimedWaiter(item: id, who: waiter.who), to: end)
    }
  }

  /// Ends what has waited for as long as its request permits. Its item goes on if others wait for it.
  mutating func endTimeouts() {
    while let (timed, end) = timeouts.first, end <= now.instant {
      let item = work.item(timed.item)
      let ended = work.change(timed.item) { $0.remove { $0.who == timed.who } }
      countOut(ended, of: item)
      noteUpdates(of: timed.item, after: item.updates)
      let viewerCount = ended.count { $0.viewer != nil }
      let byteCount = work.change(timed.item) { item in
        item.departedViewerCount += viewerCount
        return item.takeUnreportedByteCount()
      }
      let failure = Failure.timedOut(
        after: ended.first?.timeout ?? .zero, in: item.stage.stageOfFailures)
      tell(ended, .failed(failure, bytesFetched: byteCount), nil)
      continueOrEnd(timed.item)
    }
  }

  /// Nothing waits for the item, and a worker holds it. The worker's answer ends it.
  private mutating func abort(_ item: WorkItem) {
    guard let id = item.stage.lease, let lease = fetches.leases[id], lease.purpose != .lookup else {
      return
    }
    effects.append(.send(.cancel([id]), to: lease.worker))
    lease.transfer.map { stopJoiningAborted($0) }
  }

  /// Sends all lines of an item that waits back to their lists.
  mutating func sendBack(_ id: WorkID) {
    remove(from: id) { _ in true }
    discard(id)
  }
}

extension WorkItem.Stage {
  /// Where a picture that has come so far fails.
  fileprivate var stageOfFailures: Failure.Stage {
    switch self {
    case .awaitingLookup, .lookingUp, .behindEarlierLines, .awaitingTransfer, .awaitingFile,
      .awaitingDecode:
      .queue
    case .transferring: .fetch
    case .decoding: .decode
    }
  }
}

extension Outcome {
  /// The same for a request that has cost the origin nothing.
  fileprivate var withoutBytes: Outcome {
    switch self {
    case .done(let thumbnail, let isFromCache, _):
      .done(thumbnail, fromCache: isFromCache, bytesFetched: 0)
    case .failed(let failure, _): .failed(failure)
    case .cancelled: .cancelled
    }
  }
}

/// Transfers that failed: what is tried again, when, and which hosts are left alone meanwhile.
///
/// A URL that waits for its retry holds no slot of the cluster or of its host.
extension Scheduler {
  /// A lease may have failed because of its transfer, or because its picture cannot be read. Or its picture came.
  ///
  /// - Returns: what that means for the URL, for every lease of the transfer.
  private mutating func transferFailed(
    _ result: FetchResults.Result, by worker: WorkerID
  ) -> RetryVerdict {
    guard let lease = fetches.leases[result.lease], lease.worker == worker else { return .final }
    guard case .failed(let failure, let byteCount) = result.outcome else {
      if let id = lease.transfer, case .done = result.outcome, result.failureBehind == nil {
        noteNetwork(.response, of: id)
      }
      return .final
    }
    guard let id = lease.transfer, let transfer = fetches.transfers[id] else {
      guard failure.stage == .fetch, let source = work[lease.item]?.source else { return .final }
      return RetryVerdict(
        fetches.scheduleRetry(
          of: source, after: failure, upTo: attempts(permittedFor: source), at: now.instant))
    }
    if let verdict = transfer.verdict { return verdict }
    // Its other leases permit the redirect: how the transfer ends for them tells of its host's health.
    if failure.code == .blockedOrigin, transfer.leases.count > 1 { return .final }
    let evidence = self.evidence(of: failure, result.sign, in: transfer)
    // An opt-out, or a redirect that this lease does not permit, is between the origin and this lease: the
    // transfer goes on for the others. It is not tried again by itself.
    let isOfLease = failure.code == .optedOut || failure.code == .blockedOrigin
    let isOfURL = isOfLease || evidence == .none && !failure.isRetryable
    let isOfNetwork = noteNetwork(failure, evidence, of: id)
    if isOfNetwork, !isOfURL, mayHold(transfer) {
      fetches.hold(id, because: failure, at: now.instant)
      return .held
    }
    // A line that delivers nothing at all is not slow.
    if result.sign != .noData, failure.isOfSlowLine(after: now.instant - lease.since, evidence),
      let verdict = verdictOnSlowLine(
        id, because: failure, byteCount: byteCount, since: lease.since)
    {
      return verdict
    }
    guard failure.stage == .fetch else {
      // What the host sent is no picture, by its first bytes.
      fetches.noteEarlyAnswer(of: id, at: now.instant)
      return .final
    }
    let ofHost = noteHealth(of: id, result, failure, begunAt: lease.since)
    if isOfLease { return .final }
    defer { failWaiting(forDown: transfer.host) }
    if ofHost?.isProbe == true, failure.isRetryable, isForLines(transfer) {
      fetches.repeatAttempt(id, because: failure, at: now.instant)
      return .retried
    }
    if ofHost != nil, result.isUnconnected,
      fetches.repeatUnconnected(id, because: failure, at: now.instant)
    {
      return .retried
    }
    return retryVerdict(on: id, because: failure)
  }

  /// What an attempt of a transfer's URL that has failed means for it.
  mutating func retryVerdict(on id: TransferID, because failure: Failure) -> RetryVerdict {
    let permitted = fetches.transfers[id].flatMap { attempts(permittedFor: $0.source) }
    return RetryVerdict(fetches.fail(id, because: failure, upTo: permitted, at: now.instant))
  }

  /// Whether no viewer waits for a transfer.
  private func isForLines(_ transfer: LeasedTransfer) -> Bool {
    transfer.leases.allSatisfy { lease in
      fetches.leases[lease].flatMap { work[$0.item] }?.waiters.allSatisfy { $0.viewer == nil }
        ?? true
    }
  }

  /// Whether the URL of a transfer waits for the network, and does not lose an attempt. While that only seems
  /// to be the reason, failures of what viewers wait for count as ever.
  private mutating func mayHold(_ transfer: LeasedTransfer) -> Bool {
    let network = networks[fetches.queue.route(to: transfer.host)]
    return (network.outage != nil || isForLines(transfer))
      && (!network.isSuspected
        || fetches.sources.takeSuspectedHold(of: transfer.source, suspicion: network.suspicion))
  }

  /// How many attempts the requests for a source permit: as many as the one that permits the most; `nil` for as
  /// many as the cluster does.
  private func attempts(permittedFor id: SourceID) -> Int? {
    let items = fetches.sources[id]?.members.compactMap { work[$0] } ?? []
    let permitted = items.flatMap(\.waiters).map(\.attempts)
    return permitted.contains(nil) ? nil : permitted.compactMap(\.self).max()
  }

  /// The transfer of a lease that was served from the store has failed: only its host's health is
  /// concerned.
  private mutating func transferFailedBehind(_ result: FetchResults.Result, by worker: WorkerID) {
    guard let failure = result.failureBehind, let lease = fetches.leases[result.lease],
      lease.worker == worker, let id = lease.transfer, let transfer = fetches.transfers[id]
    else { return }
    let evidence = self.evidence(of: failure, result.sign, in: transfer)
    if noteNetwork(failure, evidence, of: id) { return }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    failWaiting(forDown: transfer.host)
  }

  /// A transfer's failure counts once, for the host that has given it a slot last.
  ///
  /// - Returns: see ``Fetches/noteHealth(of:_:_:begunAt:at:)``.
  @discardableResult
  private mutating func noteHealth(
    of id: TransferID, _ result: FetchResults.Result, _ failure: Failure, begunAt: Instant
  ) -> (host: String, isProbe: Bool)? {
    let failed = fetches.noteHealth(of: id, result, failure, begunAt: begunAt, at: now.instant)
    if let failed { offerStale(of: failed.host) }
    return failed
  }

  /// Requests that wait for a host that is down fail at once, and viewers for whom its cooldown is too long.
  /// Later ones probe it when its cooldown is over.
  private mutating func failWaiting(forDown host: String) {
    if fetches.queue.outage(of: host, at: now.instant) != nil { reviewViewers(heldUpBy: host) }
    guard let failure = fetches.queue.downBecause(host, at: now.instant) else { return }
    let waiting = fetches.waiting(for: host)
    fetches.queue.news.noteGivenUp(
      host, because: failure, urlCount: waiting.count, at: now.instant)
    for id in waiting { fetches.sources.noteChange(of: id) }
    effects += fetches.refuseRedirected(to: host, at: now.instant)
  }

  /// The failure of a URL that ends with it, with what was done about it, and what may be.
  ///
  /// - Parameter transfer: that failed; `nil` if no host was asked.
  private func lastFailure(_ failure: Failure, of item: WorkItem, by transfer: LeasedTransfer?)
    -> Failure
  {
    let attempts = item.source.flatMap { fetches.sources[$0]?.attempts } ?? 0
    var last =
      attempts > 1
      ? failure.explained("\(failure.detail), the last of \(attempts) attempts") : failure
    if failure.isRetryable, failure.stage == .fetch,
      let pause = transfer.flatMap({
        fetches.queue.retryAfter(of: $0.origin, host: $0.host, at: now.instant)
      })
    {
      last.retryAt = timeline.wall(pause.until)
    }
    return last
  }
}

extension FetchResults.Result {
  /// Whether the transfer had no connection, whatever its URL: a network was silent, or a host or a resolver refused.
  fileprivate var isUnconnected: Bool {
    guard case .failed(let failure, _) = outcome, failure.isOfHost else { return false }
    return isWithoutConnection
  }

  /// Whether the host did not answer the attempts to connect to it.
  fileprivate var isUnanswered: Bool {
    guard case .failed(let failure, _) = outcome, failure.code == .timeout else { return false }
    return isWithoutConnection
  }

  /// The signs that come from transfers without a connection. That of one that has answered is another.
  private var isWithoutConnection: Bool {
    sign == .answered || sign == .silent || sign == .unrouted
  }
}

extension Failure {
  /// For so long a resolver waits for a reply (`RES_TIMEOUT` of resolver(3)): what fails earlier was answered.
  private static let resolverTimeout = Duration.seconds(5)

  /// Whether a slow line can be the reason.
  ///
  /// - Parameters:
  ///   - time: that the transfer has taken.
  ///   - evidence: what it shows of the network.
  fileprivate func isOfSlowLine(after time: Duration, _ evidence: NetworkEvidence) -> Bool {
    guard stage == .fetch else { return false }
    return switch code {
    case .timeout: evidence == .none || evidence == .contact
    case .dnsFailure: time >= Self.resolverTimeout
    default: false
    }
  }

  func explained(_ detail: String) -> Failure {
    Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable, retryAt: retryAt,
      detail: detail)
  }
}
