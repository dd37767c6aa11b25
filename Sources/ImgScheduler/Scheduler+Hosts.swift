import ImgModel
import ImgWire

/// Transfers that are redirected to another host: each takes a slot and a token there, as if it
/// began there, and respects the cooldown and the circuit breaker of that host.
///
/// While it waits it holds no slot of the cluster. The host that sent the redirect starts no other
/// transfer in its place, so that no more of them wait than were under way.
extension Scheduler {
  mutating func redirected(_ redirections: [Redirections.Redirection], by worker: WorkerID) {
    for redirection in redirections {
      let id = redirection.transfer
      guard let transfer = transfers[id], transfer.worker == worker, transfer.holdsSlot else {
        continue
      }
      noteAnswer(of: transfer)
      workers.setSlow(false, id, of: worker)
      transferQueue.release(
        id, of: transfer.source, host: transfer.host, isRedirected: true, at: now.instant)
      transfers.redirect(
        id, to: redirection.host, origin: redirection.origin,
        until: now.instant + limits.transferTimeout)
      if let last = transferQueue.downBecause(redirection.host, at: now.instant) {
        refuse(id, because: downFailure(of: redirection.host, last))
      } else {
        queueRedirected(id)
        refuseRedirectedViewers(id)
      }
    }
  }

  /// A host has answered a transfer.
  mutating func noteAnswer(of transfer: LeasedTransfer) {
    // The lease that began it has waited for longest.
    let begunAt = leases.oldestSince(of: transfer.leases) ?? now.instant
    transferQueue.answered(transfer.host, begunAt: begunAt, at: now.instant)
  }

  /// Puts a transfer that waits for a slot where the most urgent of its items belongs.
  mutating func queueRedirected(_ id: TransferID) {
    guard let transfer = transfers[id], transfer.isWaitingAfterRedirect else { return }
    let items = transfer.leases.compactMap { leases[$0]?.item }
    // Lines that have begun with a viewer compete once it is gone.
    for item in items { assignStartTags(item) }
    guard let urgency = items.map({ work.item($0).urgency }).min() else { return }
    transferQueue.insert(
      redirected: id, host: transfer.host, origin: transfer.origin, urgency: urgency,
      at: now.instant)
  }

  /// Lets transfers go on for which there are slots.
  mutating func dispatchRedirected() {
    var followed: [WorkerID: [TransferID]] = [:]
    while let id = transferQueue.nextRedirected(at: now.instant) {
      let (transfer, redirectingHost) = transfers.resume(id)
      transferQueue.noteStart(of: transfer.source, host: transfer.host, at: now.instant)
      transferQueue.endRedirect(from: redirectingHost, at: now.instant)
      for lease in transfer.leases { leases.enterStage(lease, at: now.instant) }
      endDisplaced()
      followed[transfer.worker, default: []].append(id)
    }
    for (worker, transfers) in followed.sorted(by: { $0.key < $1.key }) {
      effects.append(.send(.followRedirects(TransferList(transfers: transfers)), to: worker))
    }
  }

  /// Whether the lease lives on a transfer that waits for a slot and was not refused one.
  func isRedirected(_ lease: Lease) -> Bool {
    lease.transfer.flatMap { transfers[$0] }?.isWaitingAfterRedirect ?? false
  }

  // MARK: - Giving up

  /// A host is down: no transfer waits for it.
  mutating func refuseRedirected(to host: String) {
    guard let last = transferQueue.downBecause(host, at: now.instant) else { return }
    for id in transferQueue.redirected(to: host).sorted() {
      refuse(id, because: downFailure(of: host, last))
    }
  }

  /// Gives transfers up that have waited for a slot for as long as a transfer may take.
  mutating func endRedirectWaits() {
    while let id = transfers.overdueRedirect(at: now.instant), let host = transfers[id]?.host {
      let seconds = limits.transferTimeout.components.seconds
      refuse(
        id,
        because: Failure(
          stage: .fetch, code: .timeout,
          detail: "a redirect led to \(host), where no slot was free for \(seconds) s"))
    }
  }

  /// Cancels the leases at the worker, whose answer ends them.
  private mutating func refuse(_ id: TransferID, because failure: Failure) {
    let transfer = transfers.refuse(id, because: failure)
    transferQueue.remove(redirected: id, host: transfer.host, at: now.instant)
    cancelLeases(of: transfer, id)
  }

  /// Has the worker cancel a transfer that was given up. Its answer ends the leases.
  mutating func cancelLeases(of transfer: LeasedTransfer, _ id: TransferID) {
    for lease in transfer.leases { leases.enterStage(lease, at: now.instant) }
    stopJoining(id)
    effects.append(.send(.cancel(LeaseList(leases: transfer.leases)), to: transfer.worker))
  }

  private func downFailure(of host: String, _ last: Failure) -> Failure {
    last.explained("a redirect led to \(host), which is down and was not asked: \(last.detail)")
  }

  /// What a cancelled lease has failed with, if its transfer was given up.
  func refusedResult(_ answer: FetchResults.Result) -> FetchResults.Result {
    guard let transfer = leases[answer.lease]?.transfer, let failure = transfers[transfer]?.refusal
    else { return answer }
    return FetchResults.Result(
      lease: answer.lease, outcome: .failed(failure), timings: answer.timings)
  }
}

/// Origins that have asked for a pause by Retry-After (RFC 9110 section 10.2.3), and hosts whose circuit breaker is
/// open. Lines of jobs wait until that is over. A viewer for whom it is too long fails at once, because it would
/// only hold up others.
extension Scheduler {
  mutating func coolDown(_ cooldown: HostCooldown) {
    transferQueue.coolDown(cooldown, at: now.instant)
    reviewViewers(heldUpBy: cooldown.host)
  }

  /// Refuses the viewers for whom the pause or the outage of a host that has just begun is too long.
  mutating func reviewViewers(heldUpBy host: String) {
    guard !viewers.isEmpty else { return }
    let waiting = sourcesOfViewers(heldUpBy: host)
    offerStale(of: host)
    offerStale(of: host, to: waiting)
    for id in waiting { sources.noteChange(of: id) }
    for id in transferQueue.redirected(to: host).sorted() { refuseRedirectedViewers(id) }
  }

  /// The sources of viewers that a pause of a host holds up. They are queued for a transfer, wait for their
  /// retry, or wait to join a transfer that was redirected to the host.
  private func sourcesOfViewers(heldUpBy host: String) -> [SourceID] {
    let awaited = viewers.all.values.compactMap { viewer -> Source? in
      guard case .waiting(_, let item) = viewer else { return nil }
      return work[item]?.source.flatMap { sources[$0] }
    }
    return Set(awaited.filter { placeToWaitFor($0)?.host == host }.map(\.id)).sorted()
  }

  /// Refuses the viewers of a source for whom the pause that holds it up is too long.
  ///
  /// - Parameter waiting: the items that wait for its transfer. They go on with what else waits for them,
  ///   or end.
  /// - Returns: whether there were any.
  mutating func refuseViewers(of source: Source, among waiting: [WorkItem]) -> Bool {
    guard let place = placeToWaitFor(source),
      let pause = transferQueue.retryAfter(of: place.origin, host: place.host, at: now.instant)
    else { return false }
    return refuseViewers(among: waiting, for: .pause(pause), of: place.host)
  }

  /// The same for the outage of the source's host, after a probe of it failed.
  mutating func refuseViewers(ofDown source: Source, among waiting: [WorkItem]) -> Bool {
    let host = source.key.host
    guard let outage = transferQueue.outage(of: host, at: now.instant) else { return false }
    return refuseViewers(among: waiting, for: .outage(outage), of: host)
  }

  private mutating func refuseViewers(
    among waiting: [WorkItem], for cooldown: Cooldown, of host: String
  ) -> Bool {
    var isAnyRefused = false
    for item in waiting where refuseViewers(of: item.id, for: cooldown, of: host) {
      isAnyRefused = true
      continueOrEnd(item.id)
    }
    return isAnyRefused
  }

  /// The host and the origin whose pauses hold up the items of a source that wait; `nil` if they can join a
  /// transfer that goes on.
  package func placeToWaitFor(_ source: Source) -> (host: String, origin: String)? {
    guard let id = source.joinable else { return (source.key.host, source.key.origin) }
    return transfers[id].flatMap { $0.isWaitingAfterRedirect ? ($0.host, $0.origin) : nil }
  }

  /// The same for an item that a viewer has joined, if its transfer was redirected.
  mutating func refuseViewersIfRedirected(_ id: WorkID) {
    guard let lease = work[id]?.stage.lease, let transfer = leases[lease]?.transfer else { return }
    refuseRedirectedViewers(transfer)
  }

  /// The same for a transfer that waits for a slot at the host to which it was redirected.
  mutating func refuseRedirectedViewers(_ id: TransferID) {
    guard let transfer = transfers[id],
      let pause = transferQueue.retryAfter(
        of: transfer.origin, host: transfer.host, at: now.instant)
    else { return }
    for item in transfer.leases.compactMap({ leases[$0]?.item })
    where refuseViewers(of: item, for: .pause(pause), of: transfer.host) {
      continueOrEnd(item)
    }
  }

  private mutating func refuseViewers(
    of item: WorkID, for cooldown: Cooldown, of host: String
  ) -> Bool {
    let remaining = cooldown.until - now.instant
    let isRefused = { (waiter: Waiter) in waiter.maximumRetryAfter.map { $0 < remaining } ?? false }
    let held = work.item(item)
    guard held.waiters.contains(where: isRefused) else { return false }
    let failure = failure(of: held, for: cooldown, of: host)
    return dismissViewers(of: item, with: failure, where: isRefused)
  }

  private func failure(of item: WorkItem, for cooldown: Cooldown, of host: String) -> Failure {
    switch cooldown {
    case .pause(let pause): failure(of: item, for: pause, of: host)
    case .outage(let outage): failure(for: outage, of: host)
    }
  }

  /// Why viewers do not wait for a host that has failed.
  private func failure(for outage: Outage, of host: String) -> Failure {
    let end = timeline.wall(outage.until)
    let seconds = (outage.until - now.instant).secondsRoundedUp
    var failure = outage.failure.explained(
      "\(host) fails again and again, and is asked again at \(end), in \(seconds) s; its last failure: "
        + outage.failure.detail)
    failure.retryAt = end
    return failure
  }

  /// Why the viewers of an item do not wait. A status that says nothing of the host is not told, because it
  /// is of another picture; that of the item's own last attempt is.
  private func failure(of item: WorkItem, for pause: RetryAfter, of host: String) -> Failure {
    let last = item.source.flatMap { sources[$0]?.lastFailure }
    let end = timeline.wall(pause.untilForViewers)
    let seconds = (pause.untilForViewers - now.instant).secondsRoundedUp
    let reason = reason(item, isRepeated: last != nil, for: pause, of: host)
    let attempt = last.map { "; the last attempt failed: \($0.detail)" } ?? ""
    return Failure(
      stage: .queue, code: .httpStatus,
      httpStatus: pause.isOfHost ? pause.httpStatus : last?.httpStatus, isRetryable: true,
      retryAt: end, detail: "\(reason); the pause ends at \(end), in \(seconds) s\(attempt)")
  }

  /// What has led to the pause, and what was not requested because of it.
  ///
  /// - Parameter isRepeated: whether the item's URL was requested before.
  private func reason(
    _ item: WorkItem, isRepeated: Bool, for pause: RetryAfter, of host: String
  ) -> String {
    guard !isRepeated else {
      return "\(host) sent Retry-After, so this URL was not requested again"
    }
    let answer = "answered another request with \(pause.httpStatus) and Retry-After"
    return host == item.host
      ? "\(host) \(answer), so this URL was not requested"
      : "a redirect led to \(host), which \(answer), so it was not followed"
  }
}

/// Why a host is not asked for viewers for a while.
private enum Cooldown {
  case pause(RetryAfter)
  case outage(Outage)

  var until: Instant {
    switch self {
    case .pause(let pause): pause.untilForViewers
    case .outage(let outage): outage.until
    }
  }
}
