import ImgModel
import ImgWire

/// What ready workers say.
extension Scheduler {
  mutating func workerReady(_ id: WorkerID, credits: Credits) {
    guard workers.becameReady(id, credits: credits) else { return }
    if phase == .drained { effects.append(.send(.drain, to: id)) }
  }

  /// What a host says holds for it, however the lease ends whose worker has heard it.
  mutating func updateHosts(_ updates: HostUpdates, by worker: WorkerID) {
    for cooldown in updates.cooldowns {
      coolDown(cooldown)
    }
    noteSlowTransfers(updates, by: worker)
    for host in updates.extraRequests { transferQueue.takeToken(of: host, at: now.instant) }
    for lease in updates.robotsKnown {
      // Named by the lease that began it, which may have ended while others live on it.
      guard let transfer = transfers[TransferID(startedBy: lease)], transfer.worker == worker
      else { continue }
      transferQueue.endRobotsProbe(transfer.source, host: transfer.host, at: now.instant)
    }
  }

  mutating func lookedUp(_ results: LookupResults, by worker: WorkerID) {
    workers.answered(worker, at: now.instant)
    let stale = Set(results.stale)
    for hit in results.hits {
      guard let id = endLease(hit.lease, of: worker) else { continue }
      assignStartTags(id)
      let item = work.item(id)
      serve(item.urgency)
      complete(
        id,
        with: .done(
          hit.thumbnail, fromCache: !item.wasFetched || item.hasAskedForStale, bytesFetched: 0))
      if stale.contains(hit.lease) { revalidate(item) }
    }
    for lease in results.originals {
      guard let item = endLease(lease, of: worker) else { continue }
      awaitDecode(item)
      reviewSources()
    }
    for lease in results.misses {
      guard let item = endLease(lease, of: worker) else { continue }
      holdBehindEarlierLines(item)
      reviewSources()
    }
  }

  mutating func transferred(_ ended: [LeaseID], by worker: WorkerID) {
    for lease in ended {
      guard let held = leases[lease], held.worker == worker, let id = held.transfer,
        let transfer = transfers[id], transfer.holdsSlot
      else { continue }
      noteAnswer(of: transfer)
      endReceiving(id)
    }
  }

  /// The bodies that these were to be made from, or the originals, are gone.
  mutating func released(_ gone: [LeaseID], by worker: WorkerID) {
    for lease in gone {
      if let held = leases[lease], held.worker == worker { held.transfer.map { stopJoining($0) } }
      reviewSources()
      guard let item = endLease(lease, of: worker) else { continue }
      routeMiss(item)
      reviewSources()
    }
  }

  mutating func finished(_ ended: FetchResults, by worker: WorkerID) {
    workers.answered(worker, at: now.instant)
    workers.willEndFetches(
      ended.results.count, queueCount: ended.decodeQueueCount, share: transferShare, of: worker)
    for answer in ended.results { finished(answer, by: worker) }
  }

  private mutating func finished(_ answer: FetchResults.Result, by worker: WorkerID) {
    let result = answer.outcome == .cancelled ? refusedResult(answer) : answer
    let isRetried = noteFailure(result, by: worker)
    transferFailedBehind(result, by: worker)
    let transfer = leases[result.lease]?.transfer.flatMap { transfers[$0] }
    guard let item = endLease(result.lease, of: worker) else { return }
    noteDecode(of: work.item(item), result.outcome)
    switch result.outcome {
    case .failed(let failure, let byteCount):
      work.change(item) { $0.unreportedByteCount += byteCount }
      guard isRetried, !work.item(item).waiters.isEmpty else {
        let last = lastFailure(failure, of: work.item(item), by: transfer)
        return complete(item, with: .failed(last), timings: result.timings)
      }
      routeMiss(item)
      reviewSources()
    case .done(_, fromCache: let isFromCache, _):
      if !isFromCache { noteStored() }
      complete(item, with: result.outcome, timings: result.timings)
    case .cancelled:
      complete(item, with: .cancelled, timings: result.timings)
    }
  }

  /// - Returns: whether the lease's URL is tried again.
  private mutating func noteFailure(_ result: FetchResults.Result, by worker: WorkerID) -> Bool {
    guard case .failed(let failure, _) = result.outcome else { return false }
    return transferFailed(result, failure, by: worker)
  }
}
