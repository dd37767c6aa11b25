import ImgModel
import ImgWire

/// Transfers that failed: what is tried again, when, and whose hosts are left alone meanwhile.
///
/// A URL that waits for its retry holds no place of the cluster or of its host.
extension Scheduler {
  /// The transfer of a lease has failed.
  ///
  /// - Returns: whether the URL is to be tried again, by every lease of the transfer.
  mutating func transferFailed(_ result: FetchResults.Result, _ failure: Failure) -> Bool {
    guard failure.stage == .fetch, let lease = leases[result.lease], let id = lease.transfer,
      let transfer = transfers[id]
    else { return false }
    if let isRetried = transfer.isRetried { return isRetried }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    // That is between the origin and this lease: the transfer goes on for those who do not mind. And
    // what will not be had for a while is not tried again by itself.
    if failure.code == .optedOut { return false }
    let isRetried = failure.isRetryable && scheduleRetry(of: transfer.source, after: failure)
    transfers[id]?.isRetried = isRetried
    stopJoining(id)
    reviewSources()
    remember(failure, of: transfer.source)
    giveUpIfDown(transfer.host)
    return isRetried
  }

  /// The transfer of a lease that was served from the store has failed: only its host's health is
  /// concerned.
  mutating func transferFailedBehind(_ result: FetchResults.Result, by worker: WorkerID) {
    guard let failure = result.failureBehind, let lease = leases[result.lease],
      lease.worker == worker, let id = lease.transfer, let host = transfers[id]?.host
    else { return }
    noteHealth(of: id, result, failure, begunAt: lease.since)
    giveUpIfDown(host)
  }

  /// A transfer's failure counts once, for the host that has given it a slot last. If that has sent
  /// the worker on and is the URL's own, the failure may be another's doing, such as that of a
  /// robots.txt; that there was a redirect shows this one alive.
  private mutating func noteHealth(
    of id: LeaseID, _ result: FetchResults.Result, _ failure: Failure,
    begunAt: ContinuousClock.Instant
  ) {
    guard let host = transfers[id]?.host, let source = transfers[id]?.source,
      transfers[id]?.isHealthNoted == false
    else { return }
    transfers[id]?.isHealthNoted = true
    if result.wasRedirected, host == sources[source]?.key.host {
      return transferQueue.answered(host, begunAt: begunAt, at: now.instant)
    }
    if failure.isOfHost {
      transferQueue.failed(failure, of: source, host: host, begunAt: begunAt, at: now.instant)
      offerStale(of: host)
    } else if failure.httpStatus != nil {
      transferQueue.answered(host, begunAt: begunAt, at: now.instant)
    }
  }

  /// - Returns: whether there is another attempt, within the URL's time.
  private mutating func scheduleRetry(of id: SourceID, after failure: Failure) -> Bool {
    guard var source = sources[id] else { return false }
    source.attempts += 1
    source.lastFailure = failure
    let began = source.firstFailedAt ?? now.instant
    source.firstFailedAt = began
    let delay = Backoff(limits).delay(afterAttempts: source.attempts, using: &jitter)
    let deadline = began + .milliseconds(limits.urlTimeoutMilliseconds)
    let isRetried = source.attempts < limits.attempts && now.instant + delay < deadline
    source.retryAt = isRetried ? now.instant + delay : nil
    sources[id] = source
    return isRetried
  }

  /// Queues what has waited long enough.
  mutating func endBackoffs() {
    while let (id, until) = backoffs.first, until <= now.instant {
      backoffs.remove(id)
      sources[id]?.retryAt = nil
      reviewNow(id)
    }
  }

  /// Who waits for a host that is down hears so at once; it is asked now and then for those who
  /// come when its rest is over.
  private mutating func giveUpIfDown(_ host: String) {
    guard transferQueue.downBecause(host, at: now.instant) != nil else { return }
    for id in transferQueue.waiting(for: host).sorted(by: { $0.rawValue < $1.rawValue }) {
      reviewNow(id)
    }
    refuseRedirected(to: host)
  }

  // MARK: - Remembered failures

  /// Who waits for the same picture hears of it too.
  private mutating func remember(_ failure: Failure, of id: SourceID) {
    guard let name = sources[id]?.key.name,
      rememberedFailures.remember(failure, of: name, at: now.instant)
    else { return }
    reviewNow(id)
  }

  /// The failure that ends the items of a source that wait for their transfer: one that is
  /// remembered, when it is good enough for all of them. If the picture is fetched for one, the
  /// others ride along.
  func rememberedFailure(of source: Source, for waiting: [WorkItem]) -> Failure? {
    guard let memory = rememberedFailures.memory(of: source.key.name, at: now.instant),
      waiting.allSatisfy({ isAnswered($0, by: memory) })
    else { return nil }
    return memory.failure.remembered(for: now.instant - memory.since)
  }

  private func isAnswered(_ item: WorkItem, by memory: RememberedFailures.Memory) -> Bool {
    !item.key.request.bypassesStore && item.key.request.fetch.cachePolicy.heedsRememberedFailures
      && item.jobs.allSatisfy { id in
        jobs[id].map { memory.number > $0.lastDoubtedFailure } ?? true
      }
  }

  /// The failure of a URL that is given up, with what was done about it.
  func lastFailure(_ failure: Failure, of item: WorkItem) -> Failure {
    let attempts = item.source.flatMap { sources[$0]?.attempts } ?? 0
    guard attempts > 1 else { return failure }
    return failure.explained("\(failure.detail), the last of \(attempts) attempts")
  }
}

extension Failure {
  func explained(_ detail: String) -> Failure {
    Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable, detail: detail)
  }
}
