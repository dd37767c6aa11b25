package import ImgModel
import ImgWire

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
    guard failure.stage == .fetch, let lease = leases[result.lease], lease.worker == worker else {
      return false
    }
    guard let id = lease.transfer, let transfer = transfers[id] else {
      return work[lease.item]?.source.map { scheduleRetry(of: $0, after: failure) } ?? false
    }
    if let isRetried = transfer.isRetried { return isRetried }
    // Its other leases permit the redirect: how the transfer ends for them tells of its host's health.
    if failure.code == .blockedOrigin, transfer.leases.count > 1 { return false }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    // An opt-out, or a redirect that this lease does not permit, is between the origin and this lease: the
    // transfer goes on for the others. It is not tried again by itself.
    if failure.code == .optedOut || failure.code == .blockedOrigin { return false }
    let isRetried = scheduleRetry(of: transfer.source, after: failure)
    transfers.setRetried(isRetried, id)
    stopJoining(id)
    reviewSources()
    remember(failure, of: transfer.source)
    failWaiting(forDown: transfer.host)
    return isRetried
  }

  private mutating func scheduleRetry(of source: SourceID, after failure: Failure) -> Bool {
    failure.isRetryable && sources.scheduleRetry(of: source, after: failure, at: now.instant)
  }

  /// The transfer of a lease that was served from the store has failed: only its host's health is
  /// concerned.
  mutating func transferFailedBehind(_ result: FetchResults.Result, by worker: WorkerID) {
    guard let failure = result.failureBehind, let lease = leases[result.lease],
      lease.worker == worker, let id = lease.transfer, let host = transfers[id]?.host
    else { return }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    failWaiting(forDown: host)
  }

  /// A transfer's failure counts once, for the host that has given it a slot last. If that is the
  /// URL's own and has sent the worker on, the failure may be another's doing, such as that of a
  /// robots.txt; the redirect shows that this host is alive.
  private mutating func noteHealth(
    of id: TransferID, _ result: FetchResults.Result, _ failure: Failure,
    begunAt: ContinuousClock.Instant
  ) {
    guard let transfer = transfers[id], transfers.noteHealth(of: id) else { return }
    let host = transfer.host
    if result.wasRedirected, host == sources[transfer.source]?.key.host {
      return transferQueue.answered(host, begunAt: begunAt, at: now.instant)
    }
    if failure.isOfHost {
      transferQueue.failed(
        failure, of: transfer.source, host: host, begunAt: begunAt, at: now.instant)
      offerStale(of: host)
    } else if failure.httpStatus != nil {
      transferQueue.answered(host, begunAt: begunAt, at: now.instant)
    }
  }

  /// Queues the sources that have waited long enough.
  mutating func endBackoffs() {
    while let id = sources.takeDueRetry(at: now.instant) { reviewNow(id) }
  }

  /// Requests that wait for a host that is down fail at once, and viewers for whom its cooldown is too long.
  /// Later ones probe it when its cooldown is over.
  private mutating func failWaiting(forDown host: String) {
    if transferQueue.outage(of: host, at: now.instant) != nil { reviewViewers(heldUpBy: host) }
    guard transferQueue.downBecause(host, at: now.instant) != nil else { return }
    for id in transferQueue.waiting(for: host).sorted() { reviewNow(id) }
    refuseRedirected(to: host)
  }

  // MARK: - Remembered failures

  /// Items that wait for the same picture fail, too, also those that wait for another part of it.
  private mutating func remember(_ failure: Failure, of id: SourceID) {
    guard let key = sources[id]?.key,
      sources.remember(failure, of: .init(name: key.name), at: now.instant)
    else { return }
    for key in key.ofAllParts {
      if let source = sources.source(for: key) { reviewNow(source.id) }
    }
  }

  /// The failure that ends the items of a source that wait for their transfer: one that is
  /// remembered, when it is good enough for all of them. If the picture is fetched for one, the
  /// others are attached.
  package func rememberedFailure(of source: Source, for waiting: [WorkItem]) -> Failure? {
    guard let memory = sources.memory(of: .init(name: source.key.name), at: now.instant),
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
  func lastFailure(
    _ failure: Failure, of item: WorkItem, by transfer: LeasedTransfer?
  ) -> Failure {
    let attempts = item.source.flatMap { sources[$0]?.attempts } ?? 0
    var last =
      attempts > 1
      ? failure.explained("\(failure.detail), the last of \(attempts) attempts") : failure
    if failure.isOfHost,
      let pause = transfer.flatMap({
        transferQueue.retryAfter(of: $0.origin, host: $0.host, at: now.instant)
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
