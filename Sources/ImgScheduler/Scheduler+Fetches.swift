package import ImgModel
import ImgWire

/// From a miss to the last byte of a transfer: one transfer serves all variants of a URL.
///
/// A URL that is not in the store fails when its origin said a short while ago that it is missing
/// (see ``RememberedFailures``). Else it is *fetched* when there is a slot in the cluster for such a
/// host (see ``TransferQueue``), a slot at the host and a token of the host's, the host has no cooldown
/// (see ``HostHealth``; an explicit command sends one probe nevertheless), and a worker takes it. A URL
/// whose original is in the store needs only the worker, which *decodes* that. Among those that could
/// start, the most urgent one does: see ``Urgency``.
extension Scheduler {
  // MARK: - Lines that wait behind earlier ones, see ``LookupOrder``

  /// The store does not have an item. It waits behind earlier lines, or goes on at once where it
  /// need not.
  mutating func holdBehindEarlierLines(_ id: WorkID) {
    guard isBehindLines(work.item(id)) else { return routeMiss(id) }
    fetches.sources.join(id, in: &work)
    _ = wait(id, in: .behindEarlierLines)
  }

  /// Whether it waits for earlier lines. An item of a viewer does not, nor one that needs no slot, nor
  /// one that has had its turn: what was with a worker that died competes by the start tag it has.
  private func isBehindLines(_ item: WorkItem) -> Bool {
    !fetches.isJoinable(item) && !item.url.isLocal
      && item.key.request.fetch.cachePolicy != .cacheOnly
      && !isStaleWorthAsking(of: item) && item.isOfLines && !item.hasStartTag
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

  // MARK: - What begins next

  /// - Returns: whether anything has begun.
  @discardableResult
  mutating func dispatchFetches() -> Bool {
    let share = transferShare
    var batches = BatchCollector()
    var decodes = BatchCollector()
    var begun: [SourceID] = []
    var hasBegun = false
    while isNextTaken(share: share), let next = nextToBegin() {
      hasBegun = true
      effects += fetches.endDisplaced(at: now.instant)
      let isForViewer = next.urgency.viewer > 0
      guard let source = next.source,
        let worker = workers.choose(
          digest: next.digest,
          where: { $0.takesFetches(share: share, isForViewer: isForViewer) },
          load: { $0.fetchCount })
      else { preconditionFailure("what is next is there, and a worker takes it") }
      if next.stage == .awaitingTransfer {
        let lease = fetches.begin(
          of: source, by: worker, for: next.id, at: next.url, now: now.instant)
        batches.add(grant(lease, to: worker, as: .transfer, for: next))
        noteBegin(of: TransferID(startedBy: lease), host: next.host, isForViewer: isForViewer)
        begun.append(source)
        continue
      }
      // No other item joins: each variant finds an original by its own look-up.
      let lease = fetches.leases.grant(.decode, of: next.id, to: worker, at: now.instant)
      let granted = grant(lease, to: worker, as: .decode, for: next)
      if let upload = granted.upload { effects.append(upload) } else { decodes.add(granted) }
    }
    effects += batches.messages { .fetch($0) } + decodes.messages { .decode($0) }
    // After the fetches to which they are attached.
    begun.forEach { fetches.sources.noteChange(of: $0) }
    reviewSources()
    return hasBegun
  }

  /// Whether a worker takes what is next, if there is anything.
  private func isNextTaken(share: Int) -> Bool {
    workers.contains { $0.takesFetches(share: share) }
      || isNextForViewer && workers.contains { $0.takesFetches(share: share, isForViewer: true) }
  }

  /// Whether what ``nextToBegin()`` returns, if anything can begin, is an item of a viewer.
  private var isNextForViewer: Bool {
    [work.nextDecodeUrgency, fetches.queue.mostUrgent].contains { ($0?.viewer ?? 0) > 0 }
  }

  /// Takes the item that is fetched next, and the slots for that, or decoded next; `nil` when nothing may
  /// start now. The other items of its URL are attached to its transfer.
  private mutating func nextToBegin() -> WorkItem? {
    reviewSources()
    releaseHeldLines()
    if let urgency = work.nextDecodeUrgency,
      fetches.queue.mostUrgent.map({ urgency < $0 }) ?? true
    {
      return work.takeDecode()
    }
    guard let source = fetches.queue.next(at: now.instant).flatMap({ fetches.sources[$0] }) else {
      return nil
    }
    let next = waitingItems(of: source).min { $0.urgency < $1.urgency }
    if let next, next.key.request.fetch.respectsRobots {
      fetches.queue.beginRobotsProbe(
        of: next.url.origin, by: source.id, host: next.host, at: now.instant)
    }
    return next
  }

  /// Lets lines that wait behind others compete for a slot, as long as they are more urgent than
  /// all that could begin. Later ones wait: what is taken up meanwhile may come before them.
  private mutating func releaseHeldLines() {
    while fetches.queue.hasSlot, let (id, urgency) = nextHeldLine(),
      fetches.queue.mostUrgent.map({ urgency < $0 }) ?? true
    {
      if fetches.isJoinable(work.item(id)) {
        // Its transfer begins in this event. The item joins it when that is on its way to a worker.
        jobs.assignStartTags(to: id, in: &work)
        _ = wait(id, in: .awaitingTransfer)
      } else {
        routeMiss(id)
        reviewSources()
      }
    }
  }

  /// The item of the most urgent line among those that wait behind others and may begin; `nil` when
  /// none may.
  package func nextHeldLine() -> (item: WorkID, urgency: Urgency)? {
    var next: (item: WorkID, urgency: Urgency)?
    for job in jobs.withHeldLines.keys {
      guard let item = jobs.nextHeldItem(of: job),
        let arrivalTag = work.arrivalTag(ofLineOf: job, at: item),
        let urgency = jobs.urgency(ofLineOf: job, arrivalTag: arrivalTag, at: item)
      else { continue }
      if next.map({ urgency < $0.urgency }) ?? true { next = (item, urgency) }
    }
    return next
  }

  // MARK: - Misses

  /// The store does not have an item, or the body that the item was attached to is gone. The item
  /// fails where nothing may be fetched. It waits for a decoder where its picture is at hand. It is
  /// looked up again where a stale thumbnail may do. Else it waits for a transfer.
  mutating func routeMiss(_ id: WorkID) {
    let missed = work.item(id)
    // A picture in its own URL costs no request.
    let isAtHand = missed.url.isLocal && !missed.url.isFile || missed.body != nil
    guard isAtHand || missed.key.request.fetch.cachePolicy != .cacheOnly else {
      return fail([(id, Self.notCached)])
    }
    guard !missed.url.isReadByCommand || missed.body != nil else { return awaitFile(id) }
    guard !missed.url.isLocal, missed.body == nil else { return awaitDecode(id) }
    if let failure = reasonNotToDecode(missed) { return fail([(id, failure)]) }
    guard !isStaleWorthAsking(of: missed) else { return awaitLookup(id) }
    jobs.assignStartTags(to: id, in: &work)
    let source = fetches.sources.join(id, in: &work)
    guard wait(id, in: .awaitingTransfer) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    fetches.sources.noteChange(of: source)
  }

  private static var notCached: Failure {
    Failure(
      stage: .store, code: .notCached,
      detail: "the store has not got it, and the request permits no fetch")
  }

  /// Whether only lines wait for the item, of jobs that have too much of its host waiting already, or
  /// earlier lines of it that went back: they were taken up before it was known that the host's URLs
  /// have to wait.
  func isCrowded(_ item: WorkItem) -> Bool {
    guard !item.wasFetched, item.body == nil, !item.key.isRevalidation,
      item.source.flatMap({ fetches.sources[$0]?.joinable }) == nil,
      item.waiters.allSatisfy({ $0.viewer == nil })
    else { return false }
    return item.jobs.allSatisfy { id in
      guard let job = jobs[id], let backlog = job.backlogs[item.host] else { return false }
      let indices = item.waiters.compactMap { $0.isLine(of: id) ? $0.index : nil }
      return backlog.waiting - indices.count >= job.backlogMaximum + backlog.repeatedCount
        || indices.allSatisfy { job.isSaturated(item.host, before: $0) }
    }
  }

  /// Puts an item that waits where its urgency belongs.
  mutating func enqueue(_ id: WorkID) {
    let item = work.item(id)
    switch item.stage {
    case .awaitingLookup: work.queueLookup(id)
    case .awaitingTransfer:
      // The viewer has left with whom its lines would have begun.
      if item.isOfLines, item.lacksStartTags { holdBehindEarlierLines(id) }
      item.source.map { fetches.sources.noteChange(of: $0) }
    case .awaitingFile: awaitFile(id)
    case .awaitingDecode:
      jobs.assignStartTags(to: id, in: &work)
      work.queueDecode(id)
    case .transferring(let lease): fetches.leases[lease]?.transfer.map { queueRedirected($0) }
    case .behindEarlierLines: if !isBehindLines(item) { routeMiss(id) }
    case .lookingUp, .decoding: break
    }
  }

  // MARK: - Sources

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
    if !isKnown, source.joinable == nil, isFetchedByClient(source, for: waiting) {
      return fetches.leaveHost(source, at: now.instant)
    }
    if !isKnown, let (host, pause) = fetches.pause(before: source, at: now.instant),
      refuseViewers(among: waiting, for: pause, of: host)
    {
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
    // After a probe has failed.
    if let outage = fetches.queue.outage(of: source.key.host, at: now.instant),
      refuseViewers(among: waiting, for: .outage(outage), of: source.key.host)
    {
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
      last.ofURLNotAsked("\(host) \(Failure.notAskedWords)", after: source.lastFailure)
    }
  }

  /// The failure that ends the items of a source that wait for their transfer: one that is
  /// remembered, when it is good enough for all of them. If the picture is fetched for one, the
  /// others are attached.
  package func rememberedFailure(of source: Source, for waiting: [WorkItem]) -> Failure? {
    guard let memory = fetches.sources.memory(of: .init(name: source.key.name), at: now.instant),
      waiting.allSatisfy({ isAnswered($0, by: memory, where: \.heedsRememberedFailures) })
    else { return nil }
    return memory.failure.remembered(since: timeline.wall(memory.since))
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

  // MARK: - Leases

  /// A worker holds a lease of an item that waits: it fetches or decodes from now on.
  private mutating func grant(
    _ lease: LeaseID, to worker: WorkerID, as hold: ReadyWorker.Hold, for waiting: WorkItem
  ) -> Lease.Granted {
    jobs.serve(waiting.urgency)
    workers.hold(lease, as: hold, by: worker)
    work.change(waiting.id) { $0.noteFetch() }
    move(waiting.id, to: hold == .decode ? .decoding(lease) : .transferring(lease))
    beginTimes(ofLinesAt: waiting.id)
    let item = work.item(waiting.id)
    noteUpdates(of: item.id, after: item.urgency.viewer > 0 ? [] : nil)
    return Lease.Granted(item: item, lease: lease, worker: worker)
  }

  /// The item is attached to a transfer, without a slot of its own, if its worker takes one more
  /// lease; else it waits until one of the transfer's leases has ended.
  private mutating func attach(_ waiting: WorkItem, to id: TransferID) {
    guard let transfer = fetches.transfers[id], !isDraining,
      workers[transfer.worker]?.takesFetchLeases == true
    else { return }
    let worker = transfer.worker
    let lease = fetches.attach(waiting.id, to: id, by: worker, at: now.instant)
    let granted = grant(
      lease, to: worker, as: transfer.state == .ended ? .decode : .attached, for: waiting)
    if transfer.isWaitingAfterRedirect { queueRedirected(id) }
    var batches = BatchCollector()
    batches.add(granted)
    effects += batches.messages { .attach($0) }
  }

  /// The last bytes of these are in: other URLs may use the slots, and all leases of the transfers wait for
  /// the decoder, also those that the worker did not know of when it said so.
  mutating func transferred(_ ended: [LeaseID], by worker: WorkerID) {
    for lease in ended {
      if let id = fetches.leases[lease]?.transfer { noteNetwork(.answer, of: id) }
      for (id, item) in fetches.endReceiving(ofLease: lease, by: worker, at: now.instant) {
        workers.bodyArrived(for: id, at: worker)
        move(item, to: .decoding(id))
      }
    }
  }
}

/// Pictures that are at hand: they need a decoder, or their bodies are gone.
extension Scheduler {
  /// A look-up has found the original of the item's URL, or nothing has to be fetched: it needs a
  /// decoder.
  mutating func awaitDecode(_ id: WorkID) {
    if let failure = reasonNotToDecode(work.item(id)) { return fail([(id, failure)]) }
    jobs.assignStartTags(to: id, in: &work)
    // Crashes of the decoder over the original are attributed to its source.
    fetches.sources.join(id, in: &work)
    guard wait(id, in: .awaitingDecode) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    work.queueDecode(id)
  }

  /// The bodies that these were to be made from, or the originals, are gone.
  mutating func released(_ gone: [LeaseID], by worker: WorkerID) {
    for lease in gone {
      fetches.stopJoining(ofLease: lease, by: worker)
      guard let item = fetches.end(lease, of: worker, in: &workers, at: now.instant) else {
        continue
      }
      routeMiss(item)
    }
  }

  /// A transfer whose leases all belong to aborted items cannot be joined.
  mutating func stopJoiningAborted(_ id: TransferID) {
    let isAborted = fetches.transfers[id]?.leases.allSatisfy { lease in
      fetches.leases[lease].flatMap { work[$0.item] }?.waiters.isEmpty ?? true
    }
    if isAborted == true { fetches.stopJoining(id) }
  }
}

/// Pictures that end decoders: which are left alone for a while, see ``RememberedFailures`` and ``CrashBudget``.
extension Scheduler {
  /// The picture of an item was decoded, or could not be.
  mutating func noteDecode(of item: WorkItem, _ outcome: Outcome) {
    guard item.needsDecoder else { return }
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
    guard !item.url.isLocal, !item.key.isRevalidation, item.needsDecoder else { return nil }
    if let memory = fetches.sources.memory(of: item.decodeSubject, at: now.instant),
      isAnswered(item, by: memory, where: { $0 != .reload })
    {
      return memory.failure.remembered(since: timeline.wall(memory.since))
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
  /// Whether a decoder reads its picture: the header of one is read without.
  fileprivate var needsDecoder: Bool { key.request.keep != .undecodedOriginal }

  /// What it is a decode of.
  fileprivate var decodeSubject: RememberedFailures.Subject {
    .init(name: key.name, variants: [key.request.variant] + key.request.otherVariants)
  }
}
