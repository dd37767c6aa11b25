package import ImgModel
import ImgWire

/// Exits of workers: what they held goes on elsewhere, and a fetch that kills is found out.
extension Scheduler {
  /// How many workers may crash while they hold one fetch, or be ended because they owe its answer,
  /// or because their loop hung in its transfer. None of the fetches a worker held is known to be the
  /// reason of a crash, but one that is must end too.
  static let lossMaximum = 3
  /// How many workers may end, for any reason, while they hold one fetch. Each exit costs its
  /// origin another request, so there must be an end to them, too.
  static let deathMaximum = 10

  mutating func workerExited(_ id: WorkerID, end: WorkerEnd, transferring: LeaseID?) {
    let isStoreSuspect = isStoreSuspect(for: end)
    var ending = Supervisor.Ending.failed
    if let worker = workers.remove(id) {
      ending = worker.ending(by: end)
      fetches.noteDeath(ofHolderOf: worker.fetches, at: now.instant)
      let hung = worker.killReason == .hung ? transferring : nil
      let suspects = worker.overdueLeases.union(
        hung.map { fetches.leases(startedBy: $0, at: id) } ?? [])
      for lease in worker.fetches { fetches.stopJoining(ofLease: lease, by: id) }
      let evidence = ExitEvidence(
        worker: worker, end: end, suspects: suspects, isStoreSuspect: isStoreSuspect)
      endLeases(evidence)
    }
    follow(workers.exited(id, ending, reason: end.reason, at: now.instant))
  }

  /// Whether a worker's end is explained by a store that is damaged, or may be; if it is, the store
  /// is recreated.
  private mutating func isStoreSuspect(for end: WorkerEnd) -> Bool {
    guard case .crashedInStore(let how) = end else { return false }
    switch store.noteCrash(at: now.instant) {
    case .tolerated: return true
    case .ordinary: return false
    case .damage:
      let reason = "\(StoreCrashes.crashMaximum) workers crashed in it; the last one \(how)"
      effects.append(.recreateStore(reason: reason))
      return true
    }
  }

  private mutating func endLeases(_ evidence: ExitEvidence) {
    let worker = evidence.worker
    var unread: WorkID?
    var lost: [WorkID] = []
    for lease in worker.leases {
      guard let item = fetches.end(lease, of: worker.id, in: &workers, at: now.instant) else {
        preconditionFailure("\(lease) was not held by \(worker.id)")
      }
      switch evidence.part(of: lease) {
      case .none: requeue(item)
      case .hungRead: unread = item
      case .lost: lost.append(item)
      case .held:
        if let failure = deathFailure(of: work.item(item), end: evidence.end) {
          complete(item, with: .failed(failure))
        } else {
          requeue(item)
        }
      }
    }
    endLost(lost, evidence)
    if let unread { endHungRead(unread) }
  }

  /// The item begins again with a look-up, because what its worker stored without saying so is a
  /// hit. What bypasses the store is fetched again, what was uploaded is decoded again, and what
  /// was asked about is asked about again.
  private mutating func requeue(_ id: WorkID) {
    let held = work.item(id)
    let isLookedUp =
      !held.key.request.bypassesStore && !held.key.isRevalidation && held.picture == nil
    if isLookedUp { awaitLookup(id) } else { routeMiss(id) }
  }

  /// The picture whose file could not be read fails, in all its variants: each would cost another
  /// worker.
  private mutating func endHungRead(_ id: WorkID) {
    let members = work.item(id).source.flatMap { fetches.sources[$0]?.members } ?? []
    let failure = Failure(
      stage: .fetch, code: .timeout,
      detail: "its file could not be read within \(limits.decodeTimeout.milliseconds) ms")
    complete(id, with: .failed(failure))
    for member in members {
      // The one before may have started it.
      guard let other = work[member], other.stage.lease == nil else { continue }
      complete(member, with: .failed(failure))
    }
  }

  /// What a fetch fails with that too many workers held when they ended; `nil` when it goes on.
  private func deathFailure(of item: WorkItem, end: WorkerEnd) -> Failure? {
    guard let count = item.source.flatMap({ fetches.sources[$0]?.deathCount }),
      count >= Self.deathMaximum
    else { return nil }
    let detail = "\(count) workers ended while they fetched it; the last one \(end.reason)"
    return Failure(stage: .fetch, code: .internal, detail: detail)
  }

  /// Ends or requeues the fetches of a worker that crashed, or that it was ended for.
  private mutating func endLost(_ lost: [WorkID], _ evidence: ExitEvidence) {
    for source in Set(lost.compactMap { work.item($0).source }) {
      fetches.sources.noteLoss(of: source)
    }
    for item in lost {
      let count = work.item(item).source.flatMap { fetches.sources[$0]?.lossCount } ?? 0
      guard count >= Self.lossMaximum else {
        requeue(item)
        continue
      }
      let detail =
        "\(count) workers were lost while they fetched it; the last one \(evidence.lossReason)"
      complete(item, with: .failed(Failure(stage: .fetch, code: .internal, detail: detail)))
    }
  }
}

/// Workers that hang, in their loop or in a read, or that owe an answer.
extension Scheduler {
  /// A worker whose loop did not run for so long is killed: stopped by a person, or hung.
  static let heartbeatAgeMaximum = Duration.seconds(10)
  /// How much longer than its own limits allow a worker may take to answer.
  static let answerGrace = Duration.seconds(60)

  /// Kills the worker if it has to be; what it held goes on elsewhere when its exit arrives.
  mutating func observed(_ observation: Observation, of id: WorkerID) {
    guard let worker = workers[id], worker.killReason == nil,
      let reason = reasonToKill(worker, observation)
    else { return }
    workers.kill(id, because: reason)
    effects.append(.kill(id))
  }

  private func reasonToKill(
    _ worker: ReadyWorker, _ observation: Observation
  ) -> ReadyWorker.KillReason? {
    if observation.heartbeatAge > Self.heartbeatAgeMaximum { return .hung }
    // A read of a local file has no limit of its own. It hangs when its mount is dead.
    if let lease = observation.readingLease, observation.readingTime > limits.decodeTimeout {
      return .hungRead(lease)
    }
    let overdue = overdueLeases(of: worker)
    // Looking up and decoding may wait for the store, which is not the picture's fault.
    return overdue.isEmpty ? nil : .overdue(overdue.filter { isTransferring($0) })
  }

  /// The leases that are in their stages for longer than those can last: an answer may get lost.
  private func overdueLeases(of worker: ReadyWorker) -> Set<LeaseID> {
    let overdue = worker.leases.filter { id in
      guard let lease = fetches.leases[id], let item = work[lease.item] else { return false }
      return due(lease, item, of: worker) + Self.answerGrace < now.instant
    }
    return Set(overdue)
  }

  private func due(_ lease: Lease, _ item: WorkItem, of worker: ReadyWorker) -> Instant {
    switch item.stage {
    // The worker owes nothing while it waits for `followRedirects`.
    case .transferring where fetches.isRedirected(lease): now.instant
    // All exchanges with origins have the time of one transfer together. Only a robots.txt that is
    // asked for when that runs out adds as much at most.
    case .transferring:
      lease.since + limits.transferTimeout * 2
    // Each picture in front of it may take that long; and while there are answers, others that
    // are more urgent may have overtaken it.
    case .decoding:
      max(lease.since, worker.lastAnswerAt ?? lease.since)
        + Self.decodeTime(limits) * worker.fetchCount
    case .awaitingLookup, .lookingUp, .behindEarlierLines, .awaitingTransfer, .awaitingFile,
      .awaitingDecode:
      lease.since
    }
  }

  /// How long one picture may be with the decoders: it is tried a second time.
  private static func decodeTime(_ limits: Limits) -> Duration {
    limits.decodeTimeout * 2
  }

  func isTransferring(_ id: LeaseID) -> Bool {
    fetches.leases[id].flatMap { work[$0.item] }?.stage == .transferring(id)
  }
}

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
    for delay in updates.crawlDelays { fetches.queue.noteCrawlDelay(delay, at: now.instant) }
    for held in updates.held {
      fetches.noteHeld(held, by: worker, at: now.instant)
      if isDraining { cancelHeld(held.transfer, by: worker) }
    }
    for phased in updates.phases { fetches.notePhase(phased, by: worker) }
    for host in updates.extraRequests { fetches.queue.takeToken(of: host, at: now.instant) }
    for answer in updates.robotsFetched { noteAnswer(answer) }
    for lease in updates.robotsKnown {
      fetches.endRobotsProbe(startedBy: lease, at: worker, now: now.instant)
    }
  }
}

/// What status requests are told of the workers.
extension Scheduler {
  /// The workers, by number.
  ///
  /// - Parameter processes: those of a slot and its worker, as the driver knows them.
  package func workerStatuses(
    processes: (_ number: Int, WorkerID?) -> ClusterStatus.Worker.Processes
  ) -> [ClusterStatus.Worker] {
    workers.supervisor.children.enumerated().map { index, child in
      let worker = child.state.worker.flatMap { workers[$0] }
      let transferring = worker?.fetches.count { isTransferring($0) } ?? 0
      let state: ClusterStatus.Worker.State =
        switch child.state {
        case .starting, .stopping: .starting
        case .ready: .ready
        case .backingOff: .backingOff
        case .empty: .leaving
        }
      return ClusterStatus.Worker(
        number: index, processes: processes(index, child.state.worker), state: state,
        lookingUp: worker?.lookupCount ?? 0, fetching: transferring,
        decoding: (worker?.fetchCount ?? 0) - transferring, deaths: child.deaths)
    }
  }

  /// The one worker that keeps the store in order; `nil` while none is ready. It changes only when
  /// workers come and go, so that two hardly ever do the same work.
  package var housekeeper: WorkerID? {
    workers.supervisor.children.lazy.compactMap { child in
      if case .ready(let worker) = child.state { worker } else { nil }
    }.first
  }
}
