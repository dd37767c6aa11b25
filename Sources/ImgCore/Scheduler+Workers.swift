import ImgModel
import ImgWire

/// Workers: their answers and the watchdog. Their deaths are in `Scheduler+Deaths.swift`.
extension Scheduler {
  mutating func workerReady(_ id: WorkerID, credits: Credits) {
    guard let slot = supervisor.workerReady(id) else { return }
    workers[id] = ReadyWorker(id: id, slot: slot, credits: credits)
    if hasReportedDrained { effects.append(.send(.drain, to: id)) }
  }

  // MARK: - Answers

  /// What hosts say holds for them whichever worker has heard it, and whatever has become of its
  /// lease.
  mutating func noticed(_ notices: HostUpdates, by worker: WorkerID) {
    for rest in notices.cooldowns {
      transferQueue.rest(
        rest.host, until: now.instant + .milliseconds(rest.milliseconds), at: now.instant)
    }
    for host in notices.extraRequests { transferQueue.takeToken(of: host, at: now.instant) }
    for lease in notices.robotsKnown {
      // Named by the lease that began it, which may have left it to others.
      guard let transfer = transfers[lease], transfer.worker == worker else { continue }
      transferQueue.endScouting(transfer.source, host: transfer.host, at: now.instant)
    }
  }

  mutating func lookedUp(_ results: LookupResults, by worker: WorkerID) {
    noteAnswer(of: worker)
    let stale = Set(results.stale)
    for hit in results.hits {
      guard var item = endLease(hit.lease, of: worker) else { continue }
      giveTurns(&item)
      serve(item.urgency)
      complete(
        item,
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
      awaitSlot(item)
      reviewSources()
    }
  }

  /// A worker that answers works.
  mutating func noteAnswer(of worker: WorkerID) {
    supervisor.workerAnswered(worker)
    workers[worker]?.lastAnswerAt = now.instant
  }

  mutating func transferred(_ ended: [LeaseID], by worker: WorkerID) {
    for lease in ended {
      guard let held = leases[lease], held.worker == worker, let transfer = held.transfer,
        transfers[transfer]?.holdsSlot == true
      else { continue }
      // The lease that began it has waited for longest.
      let begunAt = transfers[transfer]?.leases.compactMap { leases[$0]?.since }.min()
      transferQueue.answered(
        transfers[transfer]?.host ?? "", begunAt: begunAt ?? held.since, at: now.instant)
      releasePlace(of: transfer)
      transfers[transfer].flatMap { sources[$0.source]?.key.name }.map {
        rememberedFailures.forget($0)
      }
      // All of them, also those that the worker did not know of yet when it said so.
      for lease in transfers[transfer]?.leases ?? [] { bodyIsIn(for: lease, of: worker) }
    }
  }

  private mutating func bodyIsIn(for lease: LeaseID, of worker: WorkerID) {
    guard var item = leases[lease].flatMap({ items[$0.item] }),
      item.stage == .transferring(lease)
    else { return }
    leases[lease]?.since = now.instant
    workers[worker]?.rides.remove(lease)
    workers[worker]?.decodes.insert(lease)
    move(&item, to: .decoding(lease))
  }

  /// The bodies that these were to ride on, or the originals, are gone.
  mutating func lostBodies(_ gone: [LeaseID], by worker: WorkerID) {
    for lease in gone {
      if let held = leases[lease], held.worker == worker { held.transfer.map { stopJoining($0) } }
      reviewSources()
      guard let item = endLease(lease, of: worker) else { continue }
      awaitTransfer(item)
      reviewSources()
    }
  }

  mutating func finished(_ ended: FetchResults, by worker: WorkerID) {
    noteAnswer(of: worker)
    let share = transferShare
    workers[worker]?.endFetches(
      ended.results.count, queueCount: ended.decodeQueueCount, share: share)
    for answer in ended.results {
      let result = answer.outcome == .cancelled ? refusedResult(answer) : answer
      let isRetried = noteFailure(result, by: worker)
      transferFailedBehind(result, by: worker)
      guard var item = endLease(result.lease, of: worker) else { continue }
      if case .done(_, fromCache: false, _) = result.outcome { noteStored() }
      if case .failed(let failure, let byteCount) = result.outcome {
        item.untoldByteCount += byteCount
        if isRetried, !item.waiters.isEmpty {
          awaitTransfer(item)
          reviewSources()
        } else {
          complete(item, with: .failed(lastFailure(failure, of: item)), timings: result.timings)
        }
      } else {
        complete(item, with: result.outcome, timings: result.timings)
      }
    }
  }

  /// - Returns: whether the lease's URL is to be tried again.
  private mutating func noteFailure(_ result: FetchResults.Result, by worker: WorkerID) -> Bool {
    guard case .failed(let failure, _) = result.outcome, leases[result.lease]?.worker == worker
    else {
      return false
    }
    return transferFailed(result, failure)
  }

  // MARK: - Watchdog

  /// A worker whose loop did not run for so long is ended: stopped by a person, or hung.
  static let heartbeatAgeMaximum = Duration.seconds(10)
  /// How much longer than its own limits allow a worker may take to answer.
  static let answerGrace = Duration.seconds(60)

  /// A worker that hangs, that has decoded one picture for too long, or that owes an answer is
  /// ended; what it held goes on elsewhere when its exit arrives.
  mutating func observed(_ observation: Observation, of id: WorkerID) {
    guard let worker = workers[id], worker.condemnation == nil else { return }
    let isHung = observation.heartbeatAge > Self.heartbeatAgeMaximum
    let decodeTimeout = Duration.milliseconds(limits.decodeTimeoutMilliseconds)
    if isHung {
      workers[id]?.condemnation = .hung
    } else if let lease = observation.decodingLease, observation.decodingTime > decodeTimeout {
      workers[id]?.condemnation = .decodeTimeout(lease)
    } else {
      let owed = owedLeases(of: worker)
      guard !owed.isEmpty else { return }
      let blamed = owed.filter(isTransferring)
      workers[id]?.condemnation = .overdue(blamed)
    }
    effects.append(.kill(id))
  }

  /// What is looked up or decoded may wait for the store, which is no fault of the picture's.
  private func isTransferring(_ id: LeaseID) -> Bool {
    if case .transferring = leases[id].flatMap({ items[$0.item] })?.stage { true } else { false }
  }

  /// The leases that are in their stages for longer than those can last: every answer gets lost some
  /// day.
  private func owedLeases(of worker: ReadyWorker) -> Set<LeaseID> {
    let decodeTime = Duration.milliseconds(limits.decodeTimeoutMilliseconds)
    let transferTime = Duration.milliseconds(limits.transferTimeoutMilliseconds)
    return worker.lookups.union(worker.fetches).filter { id in
      guard let lease = leases[id], let item = items[lease.item] else { return false }
      let due: ContinuousClock.Instant =
        switch item.stage {
        // The worker owes nothing while it waits for `follow`.
        case .transferring where isRedirected(lease): now.instant
        // All that is done with origins has the time of one transfer together, but where that has
        // run out while a robots.txt is asked for, which has as much at most.
        case .transferring: lease.since + transferTime * 2
        // Each picture in front of it may take that long; and while there are answers, others that
        // are more urgent may have overtaken it.
        case .decoding:
          max(lease.since, worker.lastAnswerAt ?? lease.since) + decodeTime * worker.fetches.count
        case .awaitingLookup, .lookingUp, .missed, .awaitingTransfer, .awaitingDecode: lease.since
        }
      return due + Self.answerGrace < now.instant
    }
  }

  mutating func follow(_ verdicts: [Supervisor.Verdict]) {
    effects += verdicts.map { verdict in
      switch verdict {
      case .spawn(let worker, let slot): .spawn(worker, slot: slot)
      case .kill(let worker): .kill(worker)
      case .giveUp(let reason): .giveUp(reason: reason)
      }
    }
  }

  // MARK: - Draining

  /// What runs is finished. Viewers for whom nothing runs hear at once that nothing will.
  mutating func drain() {
    isDraining = true
    supervisor.stopRespawning()
    for viewer in viewers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      if case .waiting(_, let item) = viewers[viewer], items[item]?.stage.lease != nil { continue }
      viewerLeft(viewer)
      answerStopping(viewer)
    }
  }

  /// Once no lease is left and every outcome and every end of a job is durable, the workers may go.
  mutating func reportDrainedWhenDone() {
    guard !hasReportedDrained, leases.isEmpty, unrecordedCount == 0,
      !jobs.values.contains(where: \.isEnding)
    else { return }
    hasReportedDrained = true
    effects += workers.keys.sorted().map { .send(.drain, to: $0) }
    effects.append(.drained)
  }
}
