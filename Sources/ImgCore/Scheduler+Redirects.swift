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
      let id = LeaseID(rawValue: redirection.transfer.rawValue)
      guard let transfer = transfers[id], transfer.worker == worker, transfer.holdsSlot else {
        continue
      }
      let begunAt = transfer.leases.compactMap { leases[$0]?.since }.min() ?? now.instant
      transferQueue.answered(transfer.host, begunAt: begunAt, at: now.instant)
      transferQueue.release(
        transfer.source, host: transfer.host, isRedirected: true, at: now.instant)
      transfers[id]?.state = .redirected
      transfers[id]?.redirectingHost = transfer.host
      transfers[id]?.host = redirection.host
      redirectDeadlines.set(id, to: now.instant + .milliseconds(limits.transferTimeoutMilliseconds))
      if let last = transferQueue.downBecause(redirection.host, at: now.instant) {
        refuse(id, because: downFailure(of: redirection.host, last))
      } else {
        queueRedirected(id)
      }
    }
  }

  /// Puts a transfer that waits for a slot where the strongest of its items belongs.
  mutating func queueRedirected(_ id: LeaseID) {
    guard let transfer = transfers[id], transfer.state == .redirected, transfer.refusal == nil
    else { return }
    let items = transfer.leases.compactMap { leases[$0].flatMap { self.items[$0.item] } }
    guard let urgency = items.map(\.urgency).min() else { return }
    transferQueue.insert(redirected: id, host: transfer.host, urgency: urgency, at: now.instant)
  }

  /// Lets transfers go on for which there are slots.
  mutating func dispatchRedirected() {
    var followed: [WorkerID: [LeaseID]] = [:]
    while let id = transferQueue.nextRedirected(at: now.instant) {
      guard let transfer = transfers[id], let redirectingHost = transfer.redirectingHost else {
        preconditionFailure("what waits for a slot is a transfer")
      }
      transferQueue.noteStart(of: transfer.source, host: transfer.host, at: now.instant)
      redirectDeadlines.remove(id)
      transferQueue.endRedirect(from: redirectingHost, at: now.instant)
      transfers[id]?.state = .receiving
      transfers[id]?.redirectingHost = nil
      transfers[id]?.isHealthNoted = false
      for lease in transfer.leases { leases[lease]?.since = now.instant }
      followed[transfer.worker, default: []].append(id)
    }
    for (worker, transfers) in followed.sorted(by: { $0.key < $1.key }) {
      let list = TransferList(transfers: transfers.map(TransferID.init(startedBy:)))
      effects.append(.send(.followRedirects(list), to: worker))
    }
  }

  /// A transfer waits no more: its last lease has ended.
  mutating func leaveRedirected(_ id: LeaseID) {
    guard let transfer = transfers[id], let redirectingHost = transfer.redirectingHost else {
      return
    }
    redirectDeadlines.remove(id)
    transfers[id]?.redirectingHost = nil
    transferQueue.remove(redirected: id, host: transfer.host, at: now.instant)
    transferQueue.endRedirect(from: redirectingHost, at: now.instant)
  }

  /// Whether the lease lives on a transfer that waits for a slot and will not have to for long.
  func isRedirected(_ lease: Lease) -> Bool {
    guard let transfer = lease.transfer.flatMap({ transfers[$0] }) else { return false }
    return transfer.state == .redirected && transfer.refusal == nil
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
    while let (id, until) = redirectDeadlines.first, until <= now.instant {
      redirectDeadlines.remove(id)
      guard let host = transfers[id]?.host else { continue }
      let seconds = limits.transferTimeoutMilliseconds / 1_000
      refuse(
        id,
        because: Failure(
          stage: .fetch, code: .timeout,
          detail: "a redirect led to \(host), where no slot was free for \(seconds) s"))
    }
  }

  /// Cancels the leases at the worker, whose answer ends them.
  private mutating func refuse(_ id: LeaseID, because failure: Failure) {
    guard let transfer = transfers[id] else { return }
    redirectDeadlines.remove(id)
    transferQueue.remove(redirected: id, host: transfer.host, at: now.instant)
    transfers[id]?.refusal = failure
    // It was not asked.
    transfers[id]?.isHealthNoted = true
    for lease in transfer.leases { leases[lease]?.since = now.instant }
    stopJoining(id)
    reviewSources()
    effects.append(.send(.cancel(LeaseList(leases: transfer.leases)), to: transfer.worker))
  }

  private func downFailure(of host: String, _ last: Failure) -> Failure {
    last.explained("a redirect led to \(host), which is down and was not asked: \(last.detail)")
  }

  /// What a cancelled lease has failed with, if its transfer was given up.
  func refusedResult(_ answer: FetchResults.Result) -> FetchResults.Result {
    guard let transfer = leases[answer.lease]?.transfer,
      let failure = transfers[transfer]?.refusal
    else { return answer }
    return FetchResults.Result(
      lease: answer.lease, outcome: .failed(failure), timings: answer.timings)
  }
}
