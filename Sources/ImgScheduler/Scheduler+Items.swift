import ImgModel
import ImgWire

/// The way of a work item: requests join and leave it, and it waits and ends.
extension Scheduler {
  /// Makes `waiter` wait for the URL as the options want it; it joins the item of equal requests. The caller
  /// puts the item where its urgency belongs.
  ///
  /// - Returns: the item, whether it is new, and whether an older one is more urgent now.
  mutating func addWaiter(
    _ waiter: Waiter, url: ImageURL, options: RequestOptions, bypassesStore: Bool = false
  ) -> (id: WorkID, isNew: Bool, isMoreUrgent: Bool) {
    let fetch = options.fetch.narrowed(to: url)
    let key = WorkItem.Key(
      name: fetch.name(of: url),
      request: ThumbnailRequest(
        variant: options.variant, otherVariants: options.otherVariants,
        isLenient: options.isLenient,
        // A client that has a local URL has the picture already.
        keep: url.isLocal ? options.keep.withoutOriginal : options.keep, fetch: fetch,
        bypassesStore: bypassesStore))
    let subject = WorkItem.Subject(key, url)
    guard let id = work.openItem(for: subject) else {
      return (add(subject, waiter).id, true, false)
    }
    return (id, false, join(waiter, id))
  }

  /// - Returns: whether the item is more urgent now.
  private mutating func join(_ newcomer: Waiter, _ id: WorkID) -> Bool {
    var waiter = newcomer
    // No copy of the item is alive when it changes, so that its list of waiters grows in place.
    guard
      let (needsStartTag, numbers, host) = work[id].map({
        ($0.competes && $0.isOfLines, StageNumbers($0.stage), $0.host)
      })
    else { preconditionFailure("an open item has not ended") }
    if needsStartTag { jobs.assignStartTag(to: &waiter) }
    count([waiter], at: id, host: host, by: numbers)
    let isMoreUrgent = work.join(waiter, id, defaultExpiry: limits.defaultExpiry)
    noteUpdates(waiter.updates, of: id)
    return isMoreUrgent
  }

  /// Makes an item for the first that waits.
  mutating func add(_ subject: WorkItem.Subject, _ waiter: Waiter) -> WorkItem {
    let item = work.add(subject, waiter)
    count(item.waiters, of: item.id, by: 1)
    return item
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
  private mutating func remove(from id: WorkID, where isLeaving: (Waiter) -> Bool) -> [Waiter] {
    let (leaving, host) = work.change(id) { ($0.remove(where: isLeaving), $0.host) }
    guard !leaving.isEmpty else { return [] }
    count(leaving, of: id, by: -1)
    for waiter in leaving {
      guard case .line(let job, let index) = waiter.who else { continue }
      read(jobs.sendBack(index, startTag: waiter.startTag, host: host, of: job))
    }
    return leaving
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

  /// Nothing waits for the item, and a worker holds it. The worker's answer ends it.
  private mutating func abort(_ item: WorkItem) {
    guard let id = item.stage.lease, let lease = fetches.leases[id], lease.purpose != .lookup else {
      return
    }
    effects.append(.send(.cancel([id]), to: lease.worker))
    lease.transfer.map { stopJoiningAborted($0) }
  }

  /// Sends the lines of an item that pin its thumbnail back to their lists. The item stays.
  mutating func sendBackPinningLines(of id: WorkID) {
    remove(from: id) { $0.isPinning }
  }

  /// Sends all lines of an item that waits back to their lists.
  mutating func sendBack(_ id: WorkID) {
    remove(from: id) { _ in true }
    discard(id)
  }

  // MARK: - Waiting

  /// Puts an item that waits where its urgency belongs.
  mutating func enqueue(_ id: WorkID) {
    let item = work.item(id)
    switch item.stage {
    case .awaitingLookup: work.queueLookup(id)
    case .awaitingTransfer:
      // The viewer has left with whom its lines would have begun.
      if item.isOfLines, item.lacksStartTags { holdBehindEarlierLines(id) }
      item.source.map { fetches.sources.noteChange(of: $0) }
    case .awaitingDecode:
      assignStartTags(id)
      work.queueDecode(id)
    case .transferring(let lease): fetches.leases[lease]?.transfer.map { queueRedirected($0) }
    case .behindEarlierLines: if !isBehindLines(item) { routeMiss(id) }
    case .lookingUp, .decoding: break
    }
  }

  /// Makes an item wait for a look-up.
  mutating func awaitLookup(_ id: WorkID) {
    if wait(id, in: .awaitingLookup) { work.queueLookup(id) }
  }

  /// Makes an item wait without a lease. Lines of paused jobs, and of those that wait for room in the store,
  /// go back to their lists; during a drain viewers hear that nothing begins any more.
  ///
  /// - Returns: whether anything still waits for it.
  mutating func wait(_ id: WorkID, in stage: WorkItem.Stage) -> Bool {
    move(id, to: stage)
    if isDraining { dismissViewers(of: id, with: Self.stopping) { _ in true } }
    let stopped = work.item(id).jobs.filter { jobs.isStopped($0) }
    if !stopped.isEmpty { remove(from: id) { $0.job.map(stopped.contains) ?? false } }
    guard work.item(id).waiters.isEmpty else { return true }
    discard(id)
    return false
  }

  /// The item goes on to a stage, and the jobs whose lines wait count it there.
  mutating func move(_ id: WorkID, to stage: WorkItem.Stage) {
    let former = work.move(id, to: stage, defaultExpiry: limits.defaultExpiry)
    let item = work.item(id)
    count(
      item.waiters, at: id, host: item.host,
      by: StageNumbers(stage) + StageNumbers(former) * -1)
  }

  /// The look-up of an item is over. Its lines get start tags, if they have none. Lines beside a
  /// viewer need none, because they begin with it.
  mutating func assignStartTags(_ id: WorkID) {
    Self.assignStartTags(id, in: &work, of: &jobs)
  }

  private static func assignStartTags(
    _ id: WorkID, in work: inout WorkTable, of jobs: inout JobTable
  ) {
    guard work.item(id).isOfLines else { return }
    work.change(id) { item in item.changeWaiters { jobs.assignStartTag(to: &$0) } }
  }

  // MARK: - Ending

  /// Tells all waiters, except late ones that want the thumbnail kept for longer: it is looked up
  /// once more for them, which keeps it for longer, as for a request that comes now.
  mutating func complete(_ id: WorkID, with outcome: Outcome, timings: Timings? = nil) {
    guard case .done(let thumbnail, let isFromCache, let byteCount) = outcome else {
      let ended = conclude(id)
      return tell(ended.waiters, outcome.fetched(ended.unreportedByteCount), timings)
    }
    let departure = work.change(id) { $0.serve(bytesFetched: byteCount) }
    discardedLateCount += departure.departedViewerCount
    count(departure.served, of: id, by: -1)
    if work.item(id).waiters.isEmpty { discard(id) } else { awaitLookup(id) }
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

  /// Forgets an item that has an outcome.
  ///
  /// - Returns: the item, whose waiters are told the outcome.
  @discardableResult
  mutating func conclude(_ id: WorkID) -> WorkItem {
    count(work.item(id).waiters, of: id, by: -1)
    let item = discard(id)
    discardedLateCount += item.departedViewerCount
    return item
  }

  /// Forgets an item that has no lease.
  @discardableResult
  mutating func discard(_ id: WorkID) -> WorkItem {
    let item = work.remove(id)
    leaveSource(item)
    if let picture = item.picture { effects.append(.release(picture.file)) }
    return item
  }

  // MARK: - Counting

  /// Counts the lines among `waiters` in or out of their jobs' numbers, at the item's stage.
  private mutating func count(_ waiters: [Waiter], of id: WorkID, by change: Int) {
    let item = work.item(id)
    count(waiters, at: id, host: item.host, by: StageNumbers(item.stage) * change)
  }

  private mutating func count(
    _ waiters: [Waiter], at item: WorkID, host: String, by change: StageNumbers
  ) {
    for job in jobs.count(waiters, at: item, host: host, by: change, at: now.wall) {
      effects.append(.journal(.start(job, at: now.wall)))
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

/// Pictures that are served stale, as their origins allow (RFC 5861).
///
/// While the origin is asked about one (stale-while-revalidate, section 3), that is an item of no
/// request, after all others; only the store shows its result. Where the origin is known to fail
/// (stale-if-error, section 4), the store is asked once more for the items that wait.
extension Scheduler {
  /// How many may be under way. Beyond it none begins: the next request for the picture begins it.
  package static let revalidationMaximum = 256

  /// Has the origin asked about a hit that was stale, unless that is under way. If it still holds
  /// it is kept for as long as the first request that got it asks.
  mutating func revalidate(_ served: WorkItem) {
    var key = served.key
    key.isRevalidation = true
    let subject = WorkItem.Subject(key, served.url)
    guard !isDraining, work.revalidationCount < Self.revalidationMaximum,
      work.openItem(for: subject) == nil
    else { return }
    let expiry = served.waiters.first?.expiry ?? .standard
    routeMiss(add(subject, Waiter(who: .revalidation, expiry: expiry, priority: .min)).id)
  }

  // MARK: - Origins that fail

  /// Whether a look-up now may be answered with what is stale.
  func mayBeServedStale(_ item: WorkItem) -> Bool {
    item.key.mayBeServedStale
      && fetches.queue.isFailing(item.host, origin: item.url.origin, at: now.instant)
  }

  func isStaleWorthAsking(of item: WorkItem) -> Bool {
    !item.hasAskedForStale && mayBeServedStale(item)
  }

  /// A host has failed once more: items that wait for it may be served stale.
  mutating func offerStale(of host: String) {
    offerStale(of: host, to: fetches.queue.waiting(for: host).sorted())
  }

  /// The same for the items of these sources.
  mutating func offerStale(of host: String, to waiting: [SourceID]) {
    for id in waiting {
      guard let source = fetches.sources[id],
        fetches.queue.isFailing(host, origin: source.key.origin, at: now.instant)
      else { continue }
      let askable = waitingItems(of: source).filter { isStaleWorthAsking(of: $0) }
      guard !askable.isEmpty else { continue }
      askable.forEach { awaitLookup($0.id) }
      fetches.sources.noteChange(of: id)
    }
  }
}
