import ImgWire

/// Workers: their answers, their deaths, and the watchdog.
extension Scheduler {
  /// A worker whose loop did not run for so long is ended: stopped by a person, or hung.
  static let heartbeatAgeMaximum = Duration.seconds(10)
  /// How many workers may crash over one picture before it is given up as their killer.
  static let crashMaximum = 2
  /// How many may be killed from outside meanwhile. That is mostly somebody else's doing, but a
  /// picture that invites the kernel's out-of-memory killer every time must end too.
  static let killMaximum = 10
  /// How many workers may crash outside of a decode while they hold one fetch. None of the fetches
  /// a worker held is known to be the reason, but one that is must end too.
  static let lossMaximum = 3

  mutating func workerReady(_ id: WorkerID, credits: Credits) {
    guard let slot = supervisor.workerReady(id) else { return }
    workers[id] = ReadyWorker(id: id, slot: slot, credits: credits)
    if hasReportedDrained { effects.append(.send(.drain, to: id)) }
  }

  // MARK: - Answers

  mutating func lookedUp(_ results: LookupResults, by worker: WorkerID) {
    supervisor.workerAnswered(worker)
    for hit in results.hits {
      guard let item = endLease(hit.lease, of: worker) else { continue }
      complete(
        item, with: .done(hit.thumbnail, fromCache: !item.wasFetched, bytesFetched: 0))
    }
    for lease in results.misses {
      guard var item = endLease(lease, of: worker) else { continue }
      stoppedRunning(item.waiters)
      guard !item.waiters.isEmpty else {
        items[item.id] = nil
        continue
      }
      item.stage = .awaitingTransfer
      items[item.id] = item
      queue(item)
    }
  }

  /// The last bytes are in: other URLs may use the places.
  mutating func transferred(_ ended: [LeaseID], by worker: WorkerID) {
    for lease in ended {
      guard let held = leases[lease], held.worker == worker, var item = items[held.item],
        item.stage == .transferring(lease)
      else { continue }
      transferQueue.release(host: item.key.url.authority)
      item.stage = .decoding(lease)
      items[item.id] = item
    }
  }

  mutating func finished(_ results: [FetchResults.Result], by worker: WorkerID) {
    for result in results {
      guard let item = endLease(result.lease, of: worker) else { continue }
      complete(item, with: result.outcome)
    }
  }

  // MARK: - Watchdog

  /// A worker that hangs, or that has decoded one picture for too long, is ended; what it held goes
  /// on elsewhere when its exit arrives.
  mutating func observed(_ observation: Observation, of id: WorkerID) {
    guard workers[id]?.condemnation == nil, workers[id] != nil else { return }
    let decodeTimeout = Duration.milliseconds(limits.decodeTimeoutMilliseconds)
    if let lease = observation.decodingLease, observation.decodingTime > decodeTimeout,
      observation.heartbeatAge < Self.heartbeatAgeMaximum
    {
      workers[id]?.condemnation = .decodeTimeout(lease)
    } else if observation.heartbeatAge > Self.heartbeatAgeMaximum {
      workers[id]?.condemnation = .hung
    } else {
      return
    }
    effects.append(.kill(id))
  }

  // MARK: - Deaths

  mutating func workerExited(
    _ id: WorkerID, end: WorkerEnd, decoding: LeaseID?, at now: Moment
  ) {
    if let worker = workers[id] {
      for lease in worker.lookups.union(worker.fetches).sorted() {
        guard let item = endLease(lease, of: id) else { continue }
        if worker.fetches.contains(lease), lease == decoding {
          settleVictim(item, lease: lease, end: end, condemnation: worker.condemnation)
        } else if worker.fetches.contains(lease), decoding == nil, case .crashed(let how) = end {
          settleLoss(item, how: how)
        } else {
          requeue(item)
        }
      }
      workers[id] = nil
    }
    let reason =
      switch end {
      case .left: "left"
      case .crashed(let how), .killed(let how): how
      }
    follow(supervisor.workerExited(id, reason: reason, at: now.instant))
  }

  /// The picture on the dead worker's decoder: blamed when the evidence is enough, tried again
  /// else.
  private mutating func settleVictim(
    _ item: WorkItem, lease: LeaseID, end: WorkerEnd, condemnation: ReadyWorker.Condemnation?
  ) {
    var item = item
    switch (condemnation, end) {
    case (.decodeTimeout(lease), _):
      let limit = limits.decodeTimeoutMilliseconds
      return complete(
        item, with: Self.blame(.decodeTimeout, "decoding took longer than \(limit) ms"))
    case (.hung, _), (.decodeTimeout, .killed), (_, .left):
      // The kill was ours, and not because of this picture.
      break
    case (_, .crashed(let how)):
      item.crashCount += 1
      if item.crashCount >= Self.crashMaximum {
        return complete(
          item,
          with: Self.blame(.decodeCrash, "the decoder crashed \(item.crashCount) times: \(how)"))
      }
    case (_, .killed(let how)):
      item.killCount += 1
      if item.killCount >= Self.killMaximum {
        return complete(
          item,
          with: Self.blame(
            .decodeCrash, "\(item.killCount) workers were killed while decoding it: \(how)"))
      }
    }
    requeue(item)
  }

  /// A fetch of a worker that crashed outside of a decode.
  private mutating func settleLoss(_ item: WorkItem, how: String) {
    var item = item
    item.lossCount += 1
    guard item.lossCount >= Self.lossMaximum else { return requeue(item) }
    let detail = "workers crashed while they fetched it: \(how)"
    complete(item, with: .failed(Failure(stage: .fetch, code: .internal, detail: detail)))
  }

  private static func blame(_ code: Failure.Code, _ detail: String) -> Outcome {
    .failed(Failure(stage: .decode, code: code, detail: detail))
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

  mutating func drain() {
    isDraining = true
    supervisor.stopRespawning()
  }

  /// Once no lease is left and every outcome and every end of a job is durable, the workers may go.
  /// Viewers that are still here wait for something that will not begin.
  mutating func reportDrainedWhenDone() {
    guard !hasReportedDrained, leases.isEmpty, unrecordedCount == 0,
      !jobs.values.contains(where: \.isEnding)
    else { return }
    hasReportedDrained = true
    for viewer in viewers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      viewerLeft(viewer)
      answerStopping(viewer)
    }
    effects += workers.keys.sorted().map { .send(.drain, to: $0) }
    effects.append(.drained)
  }
}
