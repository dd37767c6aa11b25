import ImgModel
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
    sources.noteChange(of: source)
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
      item.source.flatMap({ sources[$0]?.joinable }) == nil,
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
    !isJoinable(item) && !item.url.isLocal && item.key.request.fetch.cachePolicy != .cacheOnly
      && !isStaleWorthAsking(of: item) && item.isOfLines && !item.hasStartTag
  }

  /// Whether there is a transfer that it may join.
  func isJoinable(_ item: WorkItem) -> Bool {
    sources.source(for: Source.Key(item))?.joinable != nil
  }

  // MARK: - Sources

  private mutating func joinSource(_ id: WorkID) -> SourceID {
    let item = work.item(id)
    if let source = item.source { return source }
    let source = sources.add(item)
    work.change(id) { $0.source = source }
    return source
  }

  /// An item has ended.
  mutating func leaveSource(_ item: WorkItem) {
    guard let id = item.source, let ended = sources.remove(item.id, from: id) else { return }
    leaveHost(ended)
  }

  /// Nothing of a source waits for its host any more, neither in the queue nor before a retry. A host at
  /// which no other source is queued needs no probe.
  private mutating func leaveHost(_ source: Source) {
    guard source.isQueued || source.retryAt != nil else { return }
    transferQueue.remove(source.id, host: source.key.host, at: now.instant)
  }

  package func waitingItems(of source: Source) -> [WorkItem] {
    source.members.compactMap { work[$0] }.filter { $0.stage == .awaitingTransfer }
  }

  /// The source has to be looked at now.
  mutating func reviewNow(_ id: SourceID) {
    sources.noteChange(of: id)
    reviewSources()
  }

  /// Looks at the sources whose items or transfers have changed, in the order of the changes.
  mutating func reviewSources() {
    while let source = sources.takeChanged() { review(source) }
  }

  /// Puts a URL where the most urgent of the items that wait for it belongs, or attaches them to the
  /// transfer that can be joined. Items that wait for a picture known to be missing, or for a host
  /// that is down, end.
  private mutating func review(_ source: Source) {
    if source.joinable != nil { joinHeldItems(of: source) }
    let waiting = waitingItems(of: source)
    guard let mostUrgent = waiting.map(\.urgency).min() else {
      sources.setQueued(false, source.id)
      return leaveHost(source)
    }
    // What is known to be missing costs no request: no pause holds it up, and it needs no probe.
    let isKnown = source.joinable == nil && rememberedFailure(of: source, for: waiting) != nil
    guard isKnown || !refuseViewers(of: source, among: waiting) else {
      return sources.noteChange(of: source.id)
    }
    if let transfer = source.joinable {
      for item in waiting { attach(item, to: transfer) }
      return
    }
    if !isKnown, let command = waiting.lazy.flatMap(\.waiters).compactMap(\.command).max() {
      transferQueue.wantProbe(of: source.key.host, for: command, at: now.instant)
    }
    let hopeless = hopelessItems(of: source, among: waiting)
    guard hopeless.isEmpty else {
      dequeue(source)
      return fail(hopeless)
    }
    guard !refuseViewers(ofDown: source, among: waiting) else {
      return sources.noteChange(of: source.id)
    }
    if sources.mustWait(source.id, at: now.instant) {
      dequeue(source)
      sources.awaitRetry(source.id)
    } else {
      sources.setQueued(true, source.id)
      transferQueue.insert(
        source.id, host: source.key.host, origin: source.key.origin, urgency: mostUrgent,
        at: now.instant)
    }
  }

  /// The source waits for no transfer of its own.
  private mutating func dequeue(_ source: Source) {
    guard source.isQueued else { return }
    sources.setQueued(false, source.id)
    transferQueue.remove(source.id, host: source.key.host, at: now.instant)
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
    return transferQueue.downBecause(host, at: now.instant).map { last in
      last.explained("\(host) is down, and was not asked again: \(last.detail)")
    }
  }
}
