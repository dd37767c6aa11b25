import ImgModel
import ImgWire

/// Work items: joined, left, ended.
extension Scheduler {
  /// Makes `waiter` wait for the URL as the options want it; joins whoever waits for it already.
  ///
  /// - Returns: the item, and whether it is new.
  mutating func join(
    _ waiter: Waiter, url: ImageURL, options: RequestOptions, bypassesStore: Bool = false
  ) -> (id: WorkID, isNew: Bool) {
    let key = WorkItem.Key(
      name: options.fetch.name(of: url),
      request: ThumbnailRequest(
        variant: options.variant,
        // A client that has a local URL has the picture already.
        keep: url.isLocal ? options.keep.withoutOriginal : options.keep, fetch: options.fetch,
        bypassesStore: bypassesStore))
    // Taken out of the dictionary while it changes, so that its list of waiters grows in place.
    if let id = itemsByKey[key], var item = items.removeValue(forKey: id) {
      let urgency = item.urgency
      var waiter = waiter
      if item.competes, item.isOfLines { giveTurn(&waiter) }
      count([waiter], of: item, by: 1)
      item.join(waiter, defaultExpiryMilliseconds: limits.defaultExpiryMilliseconds)
      items[id] = item
      if item.urgency != urgency { queue(item) }
      return (id, false)
    }
    return (add(key, url, waiter).id, true)
  }

  /// Makes an item for the first that waits.
  mutating func add(
    _ key: WorkItem.Key, _ url: ImageURL, _ waiter: Waiter, picture: UploadedPicture? = nil
  ) -> WorkItem {
    lastItem += 1
    let item = WorkItem(
      id: WorkID(rawValue: lastItem), key: key, url: url, waiter: waiter, picture: picture)
    items[item.id] = item
    itemsByKey[key] = item.id
    if key.isRevalidation { revalidationCount += 1 }
    count(item.waiters, of: item, by: 1)
    return item
  }

  /// Clients or jobs have stopped waiting. The last one to leave ends the item: at once when it
  /// waits, through its worker when it runs.
  mutating func leave(_ id: WorkID, where isLeaving: (Waiter) -> Bool) {
    guard var item = items[id] else { return }
    detach(from: &item, where: isLeaving)
    if !item.waiters.isEmpty { return queue(item) }
    // Later requests start from the beginning: an item that is being aborted cannot be joined.
    itemsByKey[item.key] = nil
    if item.stage.lease == nil { discard(item) } else { abort(item) }
    reviewSources()
  }

  /// Takes waiters off an item. Their lines go back to their lists.
  private mutating func detach(from item: inout WorkItem, where isLeaving: (Waiter) -> Bool) {
    let leaving = item.leave(where: isLeaving)
    guard !leaving.isEmpty else { return }
    count(leaving, of: item, by: -1)
    putBack(leaving, host: item.host)
    if !item.waiters.isEmpty || item.stage.lease != nil {
      item.departedViewerCount += leaving.count { $0.viewer != nil }
    }
    items[item.id] = item
  }

  /// Nothing waits for the item, and a worker holds it. The worker's answer ends it.
  private mutating func abort(_ item: WorkItem) {
    guard let lease = item.stage.lease, let held = leases[lease], let transfer = held.transfer
    else { return }
    effects.append(.send(.cancel(LeaseList(leases: [lease])), to: held.worker))
    stopJoiningAborted(transfer)
  }

  /// Lines that leave go back to where their jobs took them up; what becomes of them there is the
  /// jobs' matter.
  private mutating func putBack(_ waiters: [Waiter], host: String) {
    for waiter in waiters {
      guard case .line(let job, let index) = waiter.who else { continue }
      giveBack(waiter.turn, of: job)
      jobs[job]?.putBack(index, host: host)
      readOn(job)
      giveTurn(to: job)
    }
  }

  /// Puts an item that waits where its urgency belongs.
  mutating func queue(_ item: WorkItem) {
    switch item.stage {
    case .awaitingLookup: urgentLookups.set(item.id, to: item.urgency)
    case .awaitingTransfer:
      // The viewer has left with whom its lines would have begun.
      if item.lacksTurns, isBehindLines(item) { awaitSlot(item) }
      item.source.map { sourcesToReview.append($0) }
    case .awaitingDecode: originals.set(item.id, to: item.urgency)
    case .transferring(let lease): leases[lease]?.transfer.map { queueRedirected($0) }
    case .missed: if !isBehindLines(item) { awaitTransfer(item) }
    case .lookingUp, .decoding: break
    }
    reviewSources()
  }

  /// The item goes on to a stage, and the jobs of those who wait count it there.
  mutating func move(_ item: inout WorkItem, to stage: WorkItem.Stage) {
    let change = StageNumbers(stage) + StageNumbers(item.stage) * -1
    if item.stage.lease == nil, stage.lease != nil {
      item.grantRetention(defaultExpiryMilliseconds: limits.defaultExpiryMilliseconds)
    }
    item.stage = stage
    items[item.id] = item
    count(item.waiters, of: item, by: change)
  }

  /// Makes an item wait without a lease. Lines of paused jobs go back to their lists; during a
  /// drain viewers hear that nothing begins any more.
  ///
  /// - Returns: whether anybody still waits for it.
  mutating func park(_ item: inout WorkItem, in stage: WorkItem.Stage) -> Bool {
    move(&item, to: stage)
    if isDraining { dismissViewers(of: &item) }
    let paused = Set(item.jobs.filter { jobs[$0]?.isPaused == true })
    if !paused.isEmpty { detach(from: &item) { $0.job.map(paused.contains) ?? false } }
    guard item.waiters.isEmpty else { return true }
    discard(item)
    return false
  }

  private mutating func dismissViewers(of item: inout WorkItem) {
    for viewer in item.waiters.compactMap(\.viewer) {
      forget(viewer)
      detach(from: &item) { $0.viewer == viewer }
      answerStopping(viewer)
    }
  }

  /// Sends all lines of an item that waits back to their lists.
  mutating func sendBack(_ crowded: WorkItem) {
    var item = crowded
    detach(from: &item) { _ in true }
    discard(item)
  }

  /// Makes an item wait for a look-up.
  mutating func awaitLookup(_ waiting: WorkItem) {
    var item = waiting
    if park(&item, in: .awaitingLookup) { urgentLookups.set(item.id, to: item.urgency) }
  }

  /// Tells everybody who waits, except who came late and wants the thumbnail kept for longer: it is
  /// looked up once more for them, which keeps it for longer, as for somebody who comes now.
  mutating func complete(_ ended: WorkItem, with outcome: Outcome, timings: Timings? = nil) {
    guard case .done(let thumbnail, let isFromCache, let byteCount) = outcome else {
      conclude(ended)
      reviewSources()
      return tell(ended.waiters, outcome.fetched(ended.untoldByteCount), timings)
    }
    var item = ended
    discardedLateCount += item.departedViewerCount
    item.departedViewerCount = 0
    item.untoldByteCount += byteCount
    let served = item.leave { !$0.isLate }
    count(served, of: item, by: -1)
    let told = Outcome.done(
      thumbnail, fromCache: isFromCache, bytesFetched: item.untoldByteCount)
    if !served.isEmpty { item.untoldByteCount = 0 }
    if item.waiters.isEmpty { discard(item) } else { awaitLookup(item) }
    reviewSources()
    tell(served, told, timings)
  }

  /// Ends items that wait, each with its failure.
  mutating func fail(_ failed: [(item: WorkItem, failure: Failure)]) {
    for (item, _) in failed { conclude(item) }
    // The last one is told first.
    for (item, failure) in failed.reversed() {
      tell(item.waiters, .failed(failure, bytesFetched: item.untoldByteCount), nil)
    }
  }

  /// The first to wait is the one for whom the bytes were fetched; who joined costs the origin
  /// nothing.
  private mutating func tell(_ waiters: [Waiter], _ outcome: Outcome, _ timings: Timings?) {
    var share = outcome
    for waiter in waiters {
      switch waiter.who {
      case .line(let job, let index):
        record(share, job: job, index: index)
      case .viewer(let viewer):
        forget(viewer)
        effects.append(.answer(viewer, share, timings))
      case .nobody:
        break
      }
      switch outcome {
      case .done(let thumbnail, let isFromCache, _):
        share = .done(thumbnail, fromCache: isFromCache, bytesFetched: 0)
      case .failed(let failure, _): share = .failed(failure)
      case .cancelled: break
      }
    }
  }

  /// Forgets an item that has an end, of which those who wait are then told.
  mutating func conclude(_ item: WorkItem) {
    count(item.waiters, of: item, by: -1)
    discardedLateCount += item.departedViewerCount
    discard(item)
  }

  /// Forgets an item that has no lease.
  private mutating func discard(_ item: WorkItem) {
    items[item.id] = nil
    if item.key.isRevalidation { revalidationCount -= 1 }
    if itemsByKey[item.key] == item.id { itemsByKey[item.key] = nil }
    urgentLookups.remove(item.id)
    originals.remove(item.id)
    leaveSource(item)
    if let picture = item.picture { effects.append(.release(picture.attachment)) }
  }

  /// Counts the lines among `waiters` in or out of their jobs' numbers, at the item's stage.
  private mutating func count(_ waiters: [Waiter], of item: WorkItem, by change: Int) {
    count(waiters, of: item, by: StageNumbers(item.stage) * change)
  }

  private mutating func count(_ waiters: [Waiter], of item: WorkItem, by change: StageNumbers) {
    guard change != StageNumbers() else { return }
    for waiter in waiters {
      guard case .line(let job, let index) = waiter.who else { continue }
      jobs[job]?.leasedCount += change.leased
      jobs[job]?.changeBacklog(of: item.host, by: change.backlog)
      jobs[job]?.changeLookups(
        of: index, at: item.id, unanswered: change.unanswered, missed: change.missed)
      if change.missed != 0 { noteMisses(of: job) }
      if change.backlog != ActiveJob.Backlog() { giveTurn(to: job) }
      if change.leased > 0 { noteStart(of: job) }
    }
  }
}

/// Which of a job's numbers a line at a stage counts in.
private struct StageNumbers: Equatable {
  var leased = 0
  var backlog = ActiveJob.Backlog()
  /// Lines that the store has not answered.
  var unanswered = 0
  /// Lines that the store has not got, and that wait behind earlier ones.
  var missed = 0

  init() {}

  init(_ stage: WorkItem.Stage) {
    leased = stage.lease == nil ? 0 : 1
    switch stage {
    case .awaitingLookup, .lookingUp:
      backlog.lookingUp = 1
      unanswered = 1
    case .missed:
      backlog.lookingUp = 1
      missed = 1
    case .awaitingTransfer, .awaitingDecode: backlog.waiting = 1
    case .transferring, .decoding: break
    }
  }

  static func * (numbers: Self, factor: Int) -> Self {
    var product = numbers
    product.leased *= factor
    product.backlog.lookingUp *= factor
    product.backlog.waiting *= factor
    product.unanswered *= factor
    product.missed *= factor
    return product
  }

  static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum.leased += right.leased
    sum.backlog += right.backlog
    sum.unanswered += right.unanswered
    sum.missed += right.missed
    return sum
  }
}
