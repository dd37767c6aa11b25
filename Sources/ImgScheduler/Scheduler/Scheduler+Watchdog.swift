import ImgModel

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
    return overdue.isEmpty ? nil : .overdue(overdue.filter(isTransferring))
  }

  /// The leases that are in their stages for longer than those can last: an answer may get lost.
  private func overdueLeases(of worker: ReadyWorker) -> Set<LeaseID> {
    worker.lookups.union(worker.fetches).filter { id in
      guard let lease = leases[id], let item = work[lease.item] else { return false }
      return due(lease, item, of: worker) + Self.answerGrace < now.instant
    }
  }

  private func due(
    _ lease: Lease, _ item: WorkItem, of worker: ReadyWorker
  ) -> ContinuousClock.Instant {
    switch item.stage {
    // The worker owes nothing while it waits for `followRedirects`.
    case .transferring where isRedirected(lease): now.instant
    // All exchanges with origins have the time of one transfer together. Only a robots.txt that is
    // asked for when that runs out adds as much at most.
    case .transferring:
      lease.since + limits.transferTimeout * 2
    // Each picture in front of it may take that long; and while there are answers, others that
    // are more urgent may have overtaken it.
    case .decoding:
      max(lease.since, worker.lastAnswerAt ?? lease.since)
        + Self.decodeTime(limits) * worker.fetches.count
    case .awaitingLookup, .lookingUp, .behindEarlierLines, .awaitingTransfer, .awaitingDecode:
      lease.since
    }
  }

  /// How long one picture may be with the decoders: it is tried a second time.
  private static func decodeTime(_ limits: Limits) -> Duration {
    limits.decodeTimeout * 2
  }

  func isTransferring(_ id: LeaseID) -> Bool {
    leases[id].flatMap { work[$0.item] }?.stage == .transferring(id)
  }

  /// Look-ups that take too long hold no later lines up.
  mutating func endLookupWaits() {
    for lease in leases.takeOverdueLookups(at: now.instant) {
      for waiter in work[lease.item]?.waiters ?? [] {
        guard case .line(let job, let index) = waiter.who else { continue }
        jobs.endLookup(of: index, of: job)
      }
    }
  }
}
