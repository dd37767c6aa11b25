import ImgModel
import ImgWire

/// What is being fetched: sources that wait for transfers at their hosts, the transfers, and the leases of workers.
///
/// A source waits until its host and the cluster have slots for it. Its transfer begins with the lease of one item. Items
/// that want the same picture are attached to it, each with a lease of its own. The last lease ends the transfer.
///
/// Methods return the messages to workers that follow from them. The sources that a change affects are noted in
/// ``sources``, and the scheduler looks at them.
package struct Fetches {
  package internal(set) var sources: SourceTable
  package internal(set) var queue: TransferQueue
  package private(set) var transfers = TransferTable()
  package internal(set) var leases = LeaseTable()

  /// - Parameter seed: of the jitter of retries.
  init(_ limits: Limits, seed: UInt64) {
    sources = SourceTable(limits, seed: seed)
    queue = TransferQueue(limits)
  }

  /// When a source or a transfer may go on; `nil` while only other events change anything.
  func deadline(isDraining: Bool) -> Instant? {
    let waiting = queue.deadline.orLess(transfers.redirectDeadline)
    guard isDraining else { return waiting.orLess(sources.nextRetry).orLess(leases.lookupDeadline) }
    return transfers.redirectDeadline == nil ? nil : waiting
  }

  // MARK: - Waiting

  /// Whether there is a transfer that an item may join.
  func isJoinable(_ item: WorkItem) -> Bool {
    let source = item.source ?? sources.id(for: Source.Key(item))
    return source.map { sources.hasJoinable($0) } ?? false
  }

  /// The host and the origin whose pauses hold up the items of a source that wait; `nil` if they can join a
  /// transfer that goes on.
  package func placeToWaitFor(_ source: Source) -> (host: String, origin: String)? {
    guard let id = source.joinable else { return (source.key.host, source.key.origin) }
    return transfers[id].flatMap { $0.isWaitingAfterRedirect ? ($0.host, $0.origin) : nil }
  }

  /// The pause for which a source has to wait, and the host that has asked for it; `nil` for none.
  func pause(before source: Source, at now: Instant) -> (host: String, pause: Cooldown)? {
    guard let place = placeToWaitFor(source),
      let pause = queue.retryAfter(of: place.origin, host: place.host, at: now)
    else { return nil }
    return (place.host, .pause(pause))
  }

  /// Has a source wait for a transfer, or for its retry.
  ///
  /// - Parameter urgency: of the most urgent of its items that wait.
  mutating func enqueue(_ source: Source, _ urgency: Urgency, at now: Instant) {
    guard !sources.mustWait(source.id, at: now) else {
      dequeue(source, at: now)
      return sources.awaitRetry(source.id)
    }
    sources.setQueued(true, source.id)
    queue.insert(
      source.id, host: source.key.host, origin: source.key.origin, urgency: urgency, at: now)
  }

  /// The source waits for no transfer of its own.
  mutating func dequeue(_ source: Source, at now: Instant) {
    guard source.isQueued else { return }
    sources.setQueued(false, source.id)
    queue.remove(source.id, host: source.key.host, at: now)
  }

  /// No item of a source waits for a transfer.
  mutating func leaveHost(_ source: Source, at now: Instant) {
    sources.setQueued(false, source.id)
    forgetAtHost(source, at: now)
  }

  /// Nothing of a source waits for its host any more, neither in the queue nor before a retry. A host at
  /// which no other source is queued needs no probe.
  private mutating func forgetAtHost(_ source: Source, at now: Instant) {
    guard source.isQueued || source.retryAt != nil else { return }
    queue.remove(source.id, host: source.key.host, at: now)
  }

  /// An item has ended.
  mutating func remove(_ item: WorkID, from id: SourceID, at now: Instant) {
    if let ended = sources.remove(item, from: id) { forgetAtHost(ended, at: now) }
  }

  /// Notes the sources that have waited long enough for their retries.
  mutating func noteDueRetries(at now: Instant) {
    while let id = sources.takeDueRetry(at: now) { sources.noteChange(of: id) }
  }

  // MARK: - Transfers

  /// A source's transfer begins, whose slots have been taken.
  ///
  /// - Returns: the lease of the item.
  mutating func begin(
    of source: SourceID, by worker: WorkerID, for item: WorkID, at url: ImageURL, now: Instant
  ) -> LeaseID {
    let lease = leases.grant(nil, of: item, to: worker, at: now)
    let transfer = transfers.begin(
      of: source, by: worker, host: url.host, origin: url.origin, lease: lease, at: now)
    sources.begin(transfer, of: source)
    return lease
  }

  /// An item is attached to a transfer.
  ///
  /// - Returns: its lease.
  mutating func attach(
    _ item: WorkID, to id: TransferID, by worker: WorkerID, at now: Instant
  ) -> LeaseID {
    let lease = leases.grant(.transfer(id), of: item, to: worker, at: now)
    transfers.attach(lease, to: id)
    return lease
  }

  /// A worker's transfer that holds its slots; `nil` when it is over, or was given up.
  func receiving(_ id: TransferID, by worker: WorkerID) -> LeasedTransfer? {
    transfers[id].flatMap { $0.worker == worker && $0.holdsSlot && $0.refusal == nil ? $0 : nil }
  }

  /// The limits of bandwidth have held a transfer. That is neither its host's doing nor its worker's.
  mutating func noteHeld(_ held: HeldTransfer, by worker: WorkerID, at now: Instant) {
    guard let transfer = receiving(held.transfer, by: worker) else { return }
    queue.noteHeld(transfer.host, at: now)
    for lease in transfer.leases { leases.exclude(held.time, from: lease, at: now) }
  }

  /// A worker tells what a transfer is at.
  mutating func notePhase(_ phased: PhasedTransfer, by worker: WorkerID) {
    guard receiving(phased.transfer, by: worker) != nil else { return }
    transfers.setPhase(phased.phase, phased.transfer)
  }

  /// A host has answered a transfer.
  private mutating func noteAnswer(of transfer: LeasedTransfer, at now: Instant) {
    // The lease that began it has waited for longest.
    let begunAt = leases.oldestSince(of: transfer.leases) ?? now
    queue.answered(transfer.host, begunAt: begunAt, at: now)
  }

  /// A transfer has ended in the middle of its body, which is of no use: its host has answered.
  mutating func noteEarlyAnswer(of id: TransferID, at now: Instant) {
    guard let transfer = transfers[id], transfer.holdsSlot, transfers.noteHealth(of: id) else {
      return
    }
    noteAnswer(of: transfer, at: now)
  }

  /// A worker has the last byte of a lease's transfer: other URLs may use the slots.
  ///
  /// - Returns: all leases of the transfer, which wait for the decoder; none when the worker had told so, or
  ///   the lease is not the worker's.
  mutating func endReceiving(
    ofLease lease: LeaseID, by worker: WorkerID, at now: Instant
  ) -> [(id: LeaseID, item: WorkID)] {
    guard let held = leases[lease], held.worker == worker, let id = held.transfer,
      let transfer = transfers[id], transfer.holdsSlot
    else { return [] }
    noteAnswer(of: transfer, at: now)
    queue.noteArrival(id, at: now)
    transfers.end(id)
    queue.release(id, of: transfer.source, host: transfer.host, at: now)
    sources.forgetFailure(of: transfer.source)
    return transfer.leases.map { lease in
      leases.enterStage(lease, at: now)
      guard let held = leases[lease] else { preconditionFailure("\(lease) has ended") }
      return (lease, held.item)
    }
  }

  /// No item may join the transfer from now on; those that wait get one of their own.
  mutating func stopJoining(_ id: TransferID) {
    if let transfer = transfers[id] { sources.endJoining(id, of: transfer.source) }
  }

  /// The same for the transfer of a lease, if the worker holds that.
  mutating func stopJoining(ofLease id: LeaseID, by worker: WorkerID) {
    if let held = leases[id], held.worker == worker { held.transfer.map { stopJoining($0) } }
  }

  // MARK: - The end of leases

  /// Ends a lease, which its worker holds no more. The last one of a transfer ends it, and gives its slots back.
  ///
  /// - Returns: the item; `nil` when the lease is not the worker's any more: the answer is late.
  mutating func end(
    _ id: LeaseID, of worker: WorkerID, in workers: inout WorkerTable, at now: Instant
  ) -> WorkID? {
    guard let lease = leases.end(id, of: worker) else { return nil }
    workers.release(id, of: worker)
    if let transfer = lease.transfer { detach(id, from: transfer, at: now) }
    return lease.item
  }

  private mutating func detach(_ lease: LeaseID, from id: TransferID, at now: Instant) {
    guard let source = transfers[id]?.source else { preconditionFailure("\(id) is over") }
    guard let transfer = transfers.detach(lease, from: id) else {
      return sources.noteChange(of: source)
    }
    switch transfer.state {
    case .receiving: queue.release(id, of: source, host: transfer.host, at: now)
    case .redirected(let redirectingHost), .refused(let redirectingHost, _):
      queue.remove(redirected: id, host: transfer.host, at: now)
      queue.endRedirect(from: redirectingHost, at: now)
    case .ended: break
    }
    sources.endJoining(id, of: source)
  }

  /// A worker has ended that held these leases: their sources wait before their origins are asked again.
  mutating func noteDeath(ofHolderOf ids: [LeaseID], at now: Instant) {
    var noted: Set<SourceID> = []
    for lease in ids {
      guard let source = leases[lease]?.transfer.flatMap({ transfers[$0]?.source }),
        noted.insert(source).inserted
      else { continue }
      sources.noteDeath(of: source, at: now)
    }
  }

  /// The leases of a worker's transfer.
  ///
  /// - Parameter lease: that began it, and may have ended since.
  func leases(startedBy lease: LeaseID, at worker: WorkerID) -> [LeaseID] {
    transfers[TransferID(startedBy: lease)].flatMap { $0.worker == worker ? $0.leases : nil } ?? []
  }

  /// The rules of a robots.txt are known that a worker's transfer asks for.
  ///
  /// - Parameter lease: that began it, and may have ended since.
  mutating func endRobotsProbe(startedBy lease: LeaseID, at worker: WorkerID, now: Instant) {
    guard let transfer = transfers[TransferID(startedBy: lease)], transfer.worker == worker else {
      return
    }
    queue.endRobotsProbe(transfer.source, host: transfer.host, at: now)
  }

  // MARK: - Redirects

  /// A transfer that holds its slots is redirected, and gives them back.
  ///
  /// - Returns: what cancels it, if the host where the redirect leads is down.
  mutating func redirect(
    _ id: TransferID, by redirection: Redirection, until: Instant, at now: Instant
  ) -> Effect? {
    guard let transfer = transfers[id] else { preconditionFailure("\(id) is over") }
    noteAnswer(of: transfer, at: now)
    queue.release(id, of: transfer.source, host: transfer.host, isRedirected: true, at: now)
    transfers.redirect(id, to: redirection.host, origin: redirection.origin, until: until)
    return queue.downBecause(redirection.host, at: now).map { last in
      refuse(id, because: Self.downFailure(of: redirection.host, last), at: now)
    }
  }

  /// Has a transfer that was redirected wait for a slot, or changes its urgency.
  mutating func queueRedirected(_ id: TransferID, _ urgency: Urgency, at now: Instant) {
    guard let transfer = transfers[id] else { preconditionFailure("\(id) is over") }
    queue.insert(
      redirected: id, host: transfer.host, origin: transfer.origin, urgency: urgency, at: now)
  }

  /// Lets transfers go on where their redirects lead, as far as there are slots.
  ///
  /// - Returns: them by their workers.
  mutating func resumeRedirected(at now: Instant) -> [WorkerID: [TransferID]] {
    var resumed: [WorkerID: [TransferID]] = [:]
    while let id = queue.nextRedirected(at: now) {
      let (transfer, redirectingHost) = transfers.resume(id)
      transfers.setPhase(.receiving, id)
      queue.noteStart(of: transfer.source, host: transfer.host, at: now)
      queue.endRedirect(from: redirectingHost, at: now)
      for lease in transfer.leases { leases.enterStage(lease, at: now) }
      resumed[transfer.worker, default: []].append(id)
    }
    return resumed
  }

  /// Whether the lease lives on a transfer that waits for a slot and was not refused one.
  func isRedirected(_ lease: Lease) -> Bool {
    lease.transfer.flatMap { transfers[$0] }?.isWaitingAfterRedirect ?? false
  }

  // MARK: - Giving up

  /// A host is down: no transfer waits for it.
  ///
  /// - Returns: what cancels those that do.
  mutating func refuseRedirected(to host: String, at now: Instant) -> [Effect] {
    guard let last = queue.downBecause(host, at: now) else { return [] }
    return queue.redirected(to: host).sorted().map { id in
      refuse(id, because: Self.downFailure(of: host, last), at: now)
    }
  }

  /// Gives transfers up that have waited for a slot for as long as a transfer may take.
  ///
  /// - Returns: what cancels them.
  mutating func refuseOverdueRedirects(after timeout: Duration, at now: Instant) -> [Effect] {
    var cancels: [Effect] = []
    while let id = transfers.overdueRedirect(at: now), let host = transfers[id]?.host {
      let seconds = timeout.components.seconds
      let failure = Failure(
        stage: .fetch, code: .timeout,
        detail: "a redirect led to \(host), where no slot was free for \(seconds) s")
      cancels.append(refuse(id, because: failure, at: now))
    }
    return cancels
  }

  /// Ends the slow transfers that others displace, see ``SlowTransfers``.
  ///
  /// - Returns: what cancels them.
  mutating func endDisplaced(at now: Instant) -> [Effect] {
    queue.takeDisplaced().map { id in
      let failure = Failure(
        stage: .fetch, code: .timeout,
        detail: "the transfer was slow, and many slow ones of its hosts held others up")
      return cancel(id, transfers.displace(id, because: failure), at: now)
    }
  }

  private mutating func refuse(
    _ id: TransferID, because failure: Failure, at now: Instant
  ) -> Effect {
    let transfer = transfers.refuse(id, because: failure)
    queue.remove(redirected: id, host: transfer.host, at: now)
    return cancel(id, transfer, at: now)
  }

  /// Has the worker cancel a transfer that was given up. Its answer ends the leases.
  private mutating func cancel(
    _ id: TransferID, _ transfer: LeasedTransfer, at now: Instant
  ) -> Effect {
    for lease in transfer.leases { leases.enterStage(lease, at: now) }
    stopJoining(id)
    return .send(.cancel(transfer.leases), to: transfer.worker)
  }

  private static func downFailure(of host: String, _ last: Failure) -> Failure {
    last.ofURLNotAsked("a redirect led to \(host), which \(Failure.notAskedWords)")
  }

  /// What a cancelled lease has failed with, if its transfer was given up.
  func refusedResult(_ answer: FetchResults.Result) -> FetchResults.Result {
    guard let transfer = leases[answer.lease]?.transfer, let failure = transfers[transfer]?.refusal
    else { return answer }
    return FetchResults.Result(
      lease: answer.lease, outcome: .failed(failure), timings: answer.timings)
  }

  // MARK: - Failures

  /// A transfer has failed, which is its source's failure, too.
  ///
  /// - Parameter attempts: see ``SourceTable/scheduleRetry(of:after:upTo:at:)``.
  /// - Returns: whether the source is tried again.
  mutating func fail(
    _ id: TransferID, because failure: Failure, upTo attempts: Int?, at now: Instant
  ) -> Bool {
    guard let source = transfers[id]?.source else { preconditionFailure("\(id) is over") }
    let isRetried = scheduleRetry(of: source, after: failure, upTo: attempts, at: now)
    transfers.setVerdict(RetryVerdict(isRetried), id)
    stopJoining(id)
    remember(failure, of: source, at: now)
    return isRetried
  }

  /// A transfer has failed because of the network: its source waits, without an attempt less.
  mutating func hold(_ id: TransferID, because failure: Failure, at now: Instant) {
    guard let source = transfers[id]?.source else { preconditionFailure("\(id) is over") }
    sources.hold(source, because: failure, at: now)
    if let key = sources[source]?.key { queue.held(key, at: now) }
    transfers.setVerdict(.held, id)
    stopJoining(id)
  }

  /// A transfer has timed out. If the line is the reason, its source waits, without an attempt less, but not for
  /// ever.
  ///
  /// - Parameter isInVain: whether the next transfer begins at the first byte again, and is cut off as this one was.
  /// - Returns: whether the source is tried again so; `nil` if the line is not the reason, as far as is known.
  mutating func repeatAfterTimeout(
    _ id: TransferID, because failure: Failure, _ timeout: CongestionWindow.Timeout, isInVain: Bool,
    at now: Instant
  ) -> Bool? {
    guard let transfer = transfers[id], transfer.holdsSlot, transfer.refusal == nil,
      queue.timedOut(timeout, at: now)
    else {
      return nil
    }
    guard sources.takeRepeat(of: transfer.source, isInVain: isInVain) else { return false }
    repeatAttempt(id, because: failure, at: now)
    return true
  }

  /// No connection came about. If the host has answered before, it may be restarting: the source waits, without an
  /// attempt less, but not for ever.
  ///
  /// - Returns: whether the source is tried again.
  mutating func repeatUnconnected(
    _ id: TransferID, because failure: Failure, at now: Instant
  ) -> Bool {
    guard let transfer = transfers[id], queue.hasAnswered(transfer.host),
      sources.takeRepeat(of: transfer.source)
    else { return false }
    repeatAttempt(id, because: failure, at: now)
    return true
  }

  /// A failure was not that of its URL: its source waits with the others of the host, without an attempt less. So many
  /// probes in a row that fail end the wait of all, see ``HostHealth/tripMaximum``.
  mutating func repeatAttempt(_ id: TransferID, because failure: Failure, at now: Instant) {
    guard let source = transfers[id]?.source else { preconditionFailure("\(id) is over") }
    sources.repeatAttempt(of: source, because: failure, at: now)
    transfers.setVerdict(.retried, id)
    stopJoining(id)
  }

  /// What waits for a host, for a slot or for a retry.
  func waiting(for host: String) -> [SourceID] {
    (queue.waiting(for: host) + sources.waitingForRetry(at: host)).sorted()
  }

  mutating func scheduleRetry(
    of source: SourceID, after failure: Failure, upTo attempts: Int?, at now: Instant
  ) -> Bool {
    failure.isRetryable
      && sources.scheduleRetry(of: source, after: failure, upTo: attempts, at: now)
  }

  /// Items that wait for the same picture fail, too, also those that wait for another part of it.
  private mutating func remember(_ failure: Failure, of id: SourceID, at now: Instant) {
    guard let key = sources[id]?.key,
      sources.remember(failure, of: .init(name: key.name), at: now)
    else { return }
    for part in key.ofAllParts { sources.id(for: part).map { sources.noteChange(of: $0) } }
  }

  /// A transfer's failure counts once, for the host that has given it a slot last. If that is the
  /// URL's own and has sent the worker on, the failure may be another's doing, such as that of a
  /// robots.txt; the redirect shows that this host is alive.
  ///
  /// - Returns: the host, if it has failed, and whether the transfer was its probe, for a URL of its own.
  mutating func noteHealth(
    of id: TransferID, _ result: FetchResults.Result, _ failure: Failure, begunAt: Instant,
    at now: Instant
  ) -> (host: String, isProbe: Bool)? {
    guard let transfer = transfers[id], transfers.noteHealth(of: id) else { return nil }
    let host = transfer.host
    let isOwn = host == sources[transfer.source]?.key.host
    let isByRedirect = result.wasRedirected && isOwn
    if failure.isOfHost, !isByRedirect {
      let wasTripped = queue.isTripped(host)
      let isProbe = queue.failed(
        failure, of: transfer.source, host: host, begunAt: begunAt, at: now)
      if !wasTripped, queue.isTripped(host) {
        queue.news.noteFailing(host, because: failure, at: now)
      }
      return (host, isProbe && isOwn)
    }
    if isByRedirect || failure.httpStatus != nil {
      queue.answered(host, begunAt: begunAt, hasFailed: failure.isRetryable, at: now)
    }
    return nil
  }
}
