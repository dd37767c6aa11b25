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
        refuseViewers(ofRedirected: id)
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
    reviewSources()
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
