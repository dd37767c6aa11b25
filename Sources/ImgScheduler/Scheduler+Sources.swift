package import ImgModel
import ImgWire

/// From a look-up to a transfer: one transfer serves all variants of a URL.
extension Scheduler {
  /// The store does not have an item, or the body that the item was attached to is gone. The item
  /// fails where nothing may be fetched. It waits for a decoder where its picture is at hand. It is
  /// looked up again where a stale thumbnail may do. Else it waits for a transfer.
  mutating func routeMiss(_ id: WorkID) {
    let missed = work.item(id)
    // A picture in its own URL costs no request.
    let isAtHand = missed.url.isLocal && !missed.url.isFile
    guard isAtHand || missed.key.request.fetch.cachePolicy != .cacheOnly else {
      return fail([(id, Self.notCached)])
    }
    guard !missed.url.isLocal else { return awaitDecode(id) }
    if let failure = reasonNotToDecode(missed) { return fail([(id, failure)]) }
    guard !isStaleWorthAsking(of: missed) else { return awaitLookup(id) }
    assignStartTags(id)
    let source = joinSource(id)
    guard wait(id, in: .awaitingTransfer) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    fetches.sources.noteChange(of: source)
  }

  private static var notCached: Failure {
    Failure(
      stage: .store, code: .notCached,
      detail: "the store has not got it, and --cache-policy cache-only fetches nothing")
  }

  /// A look-up has found the original of the item's URL, or nothing has to be fetched: it needs a
  /// decoder.
  mutating func awaitDecode(_ id: WorkID) {
    if let failure = reasonNotToDecode(work.item(id)) { return fail([(id, failure)]) }
    assignStartTags(id)
    // Crashes of the decoder over the original are attributed to its source.
    _ = joinSource(id)
    guard wait(id, in: .awaitingDecode) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    work.queueDecode(id)
  }

  /// Whether only lines wait for the item, of jobs that have too much of its host waiting already, or
  /// earlier lines of it that went back: they were taken up before it was known that the host's URLs
  /// have to wait.
  private func isCrowded(_ item: WorkItem) -> Bool {
    guard !item.wasFetched, !item.key.isRevalidation,
      item.source.flatMap({ fetches.sources[$0]?.joinable }) == nil,
      item.waiters.allSatisfy({ $0.viewer == nil })
    else { return false }
    return item.jobs.allSatisfy { id in
      guard let job = jobs[id], let backlog = job.backlogs[item.host] else { return false }
      let indices = item.waiters.compactMap { $0.isLine(of: id) ? $0.index : nil }
      return backlog.waiting - indices.count >= job.backlogMaximum
        || indices.allSatisfy { job.isSaturated(item.host, before: $0) }
    }
  }

  // MARK: - Lines that wait behind earlier ones, see ``LookupOrder``

  /// The store does not have an item. It waits behind earlier lines, or goes on at once where it
  /// need not.
  mutating func holdBehindEarlierLines(_ id: WorkID) {
    guard isBehindLines(work.item(id)) else { return routeMiss(id) }
    _ = joinSource(id)
    _ = wait(id, in: .behindEarlierLines)
  }

  /// Whether it waits for earlier lines. An item of a viewer does not, nor one that needs no slot, nor
  /// one that has had its turn: what was with a worker that died competes by the start tag it has.
  func isBehindLines(_ item: WorkItem) -> Bool {
    !fetches.isJoinable(item) && !item.url.isLocal
      && item.key.request.fetch.cachePolicy != .cacheOnly
      && !isStaleWorthAsking(of: item) && item.isOfLines && !item.hasStartTag
  }

  // MARK: - Sources

  private mutating func joinSource(_ id: WorkID) -> SourceID {
    let item = work.item(id)
    if let source = item.source { return source }
    let source = fetches.sources.add(item)
    work.change(id) { $0.source = source }
    return source
  }

  /// An item has ended.
  mutating func leaveSource(_ item: WorkItem) {
    if let source = item.source { fetches.remove(item.id, from: source, at: now.instant) }
  }

  package func waitingItems(of source: Source) -> [WorkItem] {
    source.members.compactMap { work[$0] }.filter { $0.stage == .awaitingTransfer }
  }

  /// Looks at the sources whose items or transfers have changed, in the order of the changes: before a transfer
  /// may begin, and after.
  mutating func reviewSources() {
    while let source = fetches.sources.takeChanged() { review(source) }
  }

  /// Puts a URL where the most urgent of the items that wait for it belongs, or attaches them to the
  /// transfer that can be joined. Items that wait for a picture known to be missing, or for a host
  /// that is down, end.
  private mutating func review(_ source: Source) {
    if source.joinable != nil { joinHeldItems(of: source) }
    let waiting = waitingItems(of: source)
    guard let mostUrgent = waiting.map(\.urgency).min() else {
      return fetches.leaveHost(source, at: now.instant)
    }
    // What is known to be missing costs no request: no pause holds it up, and it needs no probe.
    let isKnown = source.joinable == nil && rememberedFailure(of: source, for: waiting) != nil
    guard isKnown || !refuseViewers(of: source, among: waiting) else {
      return fetches.sources.noteChange(of: source.id)
    }
    if let transfer = source.joinable {
      for item in waiting { attach(item, to: transfer) }
      return
    }
    if !isKnown, let command = waiting.lazy.flatMap(\.waiters).compactMap(\.command).max() {
      fetches.queue.wantProbe(of: source.key.host, for: command, at: now.instant)
    }
    let hopeless = hopelessItems(of: source, among: waiting)
    guard hopeless.isEmpty else {
      fetches.dequeue(source, at: now.instant)
      return fail(hopeless)
    }
    guard !refuseViewers(ofDown: source, among: waiting) else {
      return fetches.sources.noteChange(of: source.id)
    }
    fetches.enqueue(source, mostUrgent, at: now.instant)
  }

  /// Items of the source that wait behind earlier lines join its transfer, which has a slot.
  private mutating func joinHeldItems(of source: Source) {
    for member in source.members {
      if let item = work[member], item.stage == .behindEarlierLines { routeMiss(member) }
    }
  }

  /// The items that end without a transfer, and why.
  private func hopelessItems(
    of source: Source, among waiting: [WorkItem]
  ) -> [(item: WorkID, failure: Failure)] {
    var hopeless: [(item: WorkID, failure: Failure)] = []
    for index in waiting.indices {
      // With the first ones gone, a remembered failure may be good enough for the others.
      guard let failure = reasonToFail(source, for: Array(waiting[index...])) else { break }
      hopeless.append((waiting[index].id, failure))
    }
    return hopeless
  }

  /// Why the source is not asked for now; `nil` when it is.
  private func reasonToFail(_ source: Source, for waiting: [WorkItem]) -> Failure? {
    if let failure = rememberedFailure(of: source, for: waiting) { return failure }
    let host = source.key.host
    return fetches.queue.downBecause(host, at: now.instant).map { last in
      last.explained("\(host) is down, and was not asked again: \(last.detail)")
    }
  }
}

/// Transfers that failed: what is tried again, when, and which hosts are left alone meanwhile.
///
/// A URL that waits for its retry holds no slot of the cluster or of its host.
extension Scheduler {
  /// A lease has failed because of its transfer, or because its picture cannot be read.
  ///
  /// - Returns: whether every lease of the transfer tries the URL again.
  mutating func transferFailed(
    _ result: FetchResults.Result, _ failure: Failure, by worker: WorkerID
  ) -> Bool {
    guard failure.stage == .fetch, let lease = fetches.leases[result.lease], lease.worker == worker
    else {
      return false
    }
    guard let id = lease.transfer, let transfer = fetches.transfers[id] else {
      let source = work[lease.item]?.source
      return source.map { fetches.scheduleRetry(of: $0, after: failure, at: now.instant) } ?? false
    }
    if let isRetried = transfer.isRetried { return isRetried }
    // Its other leases permit the redirect: how the transfer ends for them tells of its host's health.
    if failure.code == .blockedOrigin, transfer.leases.count > 1 { return false }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    // An opt-out, or a redirect that this lease does not permit, is between the origin and this lease: the
    // transfer goes on for the others. It is not tried again by itself.
    if failure.code == .optedOut || failure.code == .blockedOrigin { return false }
    let isRetried = fetches.fail(id, because: failure, at: now.instant)
    failWaiting(forDown: transfer.host)
    return isRetried
  }

  /// The transfer of a lease that was served from the store has failed: only its host's health is
  /// concerned.
  mutating func transferFailedBehind(_ result: FetchResults.Result, by worker: WorkerID) {
    guard let failure = result.failureBehind, let lease = fetches.leases[result.lease],
      lease.worker == worker, let id = lease.transfer, let host = fetches.transfers[id]?.host
    else { return }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    failWaiting(forDown: host)
  }

  /// A transfer's failure counts once, for the host that has given it a slot last.
  private mutating func noteHealth(
    of id: TransferID, _ result: FetchResults.Result, _ failure: Failure, begunAt: Instant
  ) {
    let host = fetches.noteHealth(of: id, result, failure, begunAt: begunAt, at: now.instant)
    if let host { offerStale(of: host) }
  }

  /// Queues the sources that have waited long enough.
  mutating func endBackoffs() {
    fetches.noteDueRetries(at: now.instant)
  }

  /// Requests that wait for a host that is down fail at once, and viewers for whom its cooldown is too long.
  /// Later ones probe it when its cooldown is over.
  private mutating func failWaiting(forDown host: String) {
    if fetches.queue.outage(of: host, at: now.instant) != nil { reviewViewers(heldUpBy: host) }
    guard fetches.queue.downBecause(host, at: now.instant) != nil else { return }
    for id in fetches.queue.waiting(for: host).sorted() { fetches.sources.noteChange(of: id) }
    effects += fetches.refuseRedirected(to: host, at: now.instant)
  }

  // MARK: - Remembered failures

  /// The failure that ends the items of a source that wait for their transfer: one that is
  /// remembered, when it is good enough for all of them. If the picture is fetched for one, the
  /// others are attached.
  package func rememberedFailure(of source: Source, for waiting: [WorkItem]) -> Failure? {
    guard let memory = fetches.sources.memory(of: .init(name: source.key.name), at: now.instant),
      waiting.allSatisfy({ isAnswered($0, by: memory, where: \.heedsRememberedFailures) })
    else { return nil }
    return memory.failure.remembered(for: now.instant - memory.since)
  }

  /// Whether a remembered failure is good enough for an item.
  ///
  /// - Parameter isHeeded: whether those of a policy take it at all.
  func isAnswered(
    _ item: WorkItem, by memory: RememberedFailures.Memory, where isHeeded: (CachePolicy) -> Bool
  ) -> Bool {
    !item.key.request.bypassesStore && isHeeded(item.key.request.fetch.cachePolicy)
      && item.jobs.allSatisfy { id in
        jobs[id].map { memory.number > $0.lastDoubtedFailure } ?? true
      }
  }

  /// The failure of a URL that ends with it, with what was done about it, and what may be.
  ///
  /// - Parameter transfer: that failed; `nil` if no host was asked.
  func lastFailure(_ failure: Failure, of item: WorkItem, by transfer: LeasedTransfer?) -> Failure {
    let attempts = item.source.flatMap { fetches.sources[$0]?.attempts } ?? 0
    var last =
      attempts > 1
      ? failure.explained("\(failure.detail), the last of \(attempts) attempts") : failure
    if failure.isOfHost,
      let pause = transfer.flatMap({
        fetches.queue.retryAfter(of: $0.origin, host: $0.host, at: now.instant)
      })
    {
      last.retryAt = timeline.wall(pause.until)
    }
    return last
  }
}

extension Failure {
  func explained(_ detail: String) -> Failure {
    Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable, retryAt: retryAt,
      detail: detail)
  }
}

/// Pictures that end decoders: which are left alone for a while, see ``RememberedFailures`` and ``CrashBudget``.
extension Scheduler {
  /// The picture of an item was decoded, or could not be.
  mutating func noteDecode(of item: WorkItem, _ outcome: Outcome) {
    switch outcome {
    case .failed(let failure, _) where failure.isOfCrash:
      guard !item.url.isLocal else { return }
      _ = fetches.sources.remember(failure, of: item.decodeSubject, at: now.instant)
      if item.jobs.isEmpty { crashBudget.note(item.host, at: now.instant) }
    case .done(_, fromCache: false, _): fetches.sources.forgetFailure(of: item.decodeSubject)
    default: break
    }
  }

  /// Why the picture of an item is not decoded now; `nil` when it is.
  func reasonNotToDecode(_ item: WorkItem) -> Failure? {
    guard !item.url.isLocal, !item.key.isRevalidation else { return nil }
    if let memory = fetches.sources.memory(of: item.decodeSubject, at: now.instant),
      isAnswered(item, by: memory, where: { $0 != .reload })
    {
      return memory.failure.remembered(for: now.instant - memory.since)
    }
    guard item.isOfNoJob,
      let end = crashBudget.spentUntil(item.host, at: now.instant)
    else { return nil }
    let group = HostGroup.name(of: item.host)
    return Failure(
      stage: .decode, code: .decodeCrash, isRetryable: true, retryAt: timeline.wall(end),
      detail: "\(CrashBudget.maximumCount) pictures of \(group) have ended decoders within "
        + "\(CrashBudget.period.components.seconds) s, and its others are not decoded for a while")
  }
}

extension WorkItem {
  /// What it is a decode of.
  fileprivate var decodeSubject: RememberedFailures.Subject {
    .init(name: key.name, variants: [key.request.variant] + key.request.otherVariants)
  }
}
