import ImgModel

/// Deaths of workers: what they held goes on elsewhere, and a picture that kills is found out.
extension Scheduler {
  /// How many workers may crash over one picture before it is given up as their killer.
  static let crashMaximum = 2
  /// How many may be killed from outside meanwhile. That is mostly somebody else's doing, but a
  /// picture that invites the kernel's out-of-memory killer every time must end too.
  static let killMaximum = 10
  /// How many workers may crash outside of a decode while they hold one fetch, or be ended because
  /// they owe its answer, or because their loop hung in its transfer. None of the fetches a worker held is known to be the reason of a crash, but
  /// one that is must end too.
  static let lossMaximum = 3
  /// How many workers may end, for whatever reason, while they hold one fetch. Each death costs its
  /// origin another request, of which there must be an end, too.
  static let deathMaximum = 10

  mutating func workerExited(
    _ id: WorkerID, end: WorkerEnd, decoding: LeaseID?, transferring: LeaseID?
  ) {
    let isStoreToBlame = blamesStore(for: end)
    var ending = Supervisor.Ending.failed
    if let worker = workers.removeValue(forKey: id) {
      ending = worker.ending(by: end)
      backOff(worker)
      let suspects = worker.blamedLeases.union(hungLeases(of: worker, transferring: transferring))
      for transfer in worker.fetches.compactMap({ leases[$0]?.transfer }) {
        stopJoining(transfer)
        reviewSources()
      }
      bury(
        worker, end: end, decoding: decoding, suspects: suspects, isStoreToBlame: isStoreToBlame)
    }
    follow(supervisor.workerExited(id, ending, reason: end.reason, at: now.instant))
  }

  /// The leases of the transfer in which the loop of a worker hung that was ended for that.
  private func hungLeases(of worker: ReadyWorker, transferring: LeaseID?) -> [LeaseID] {
    guard worker.condemnation == .hung, let transfer = transferring.flatMap({ transfers[$0] }),
      transfer.worker == worker.id
    else { return [] }
    return transfer.leases
  }

  /// What the worker was fetching waits before its origin is asked again: not after the first death,
  /// which may have any reason, and longer after each further one.
  private mutating func backOff(_ worker: ReadyWorker) {
    var noted: Set<SourceID> = []
    for lease in worker.fetches.sorted() {
      guard let transfer = leases[lease]?.transfer.flatMap({ transfers[$0] }), transfer.asksOrigin,
        var source = sources[transfer.source], noted.insert(source.id).inserted
      else { continue }
      source.deathCount += 1
      if source.deathCount > 1 {
        let delay = Backoff(limits).delay(afterAttempts: source.deathCount - 1, using: &jitter)
        source.retryAt = max(source.retryAt ?? now.instant, now.instant + delay)
      }
      sources[source.id] = source
    }
  }

  /// Whether a worker's end is explained by a store that is damaged, or may be; if it is, the store
  /// is recreated.
  private mutating func blamesStore(for end: WorkerEnd) -> Bool {
    guard case .crashedInStore(let how) = end else { return false }
    switch storeCrashes.note(at: now.instant) {
    case .tolerated: return true
    case .ordinary: return false
    case .damage:
      let reason = "\(StoreCrashes.crashMaximum) workers crashed in it; the last one \(how)"
      effects.append(.recreateStore(reason: reason))
      return true
    }
  }

  private mutating func bury(
    _ worker: ReadyWorker, end: WorkerEnd, decoding: LeaseID?, suspects: Set<LeaseID>,
    isStoreToBlame: Bool
  ) {
    var victim: WorkItem?
    var lost: [WorkItem] = []
    for lease in worker.lookups.union(worker.fetches).sorted() {
      guard let item = endLease(lease, of: worker.id) else { continue }
      if suspects.contains(lease), worker.fetches.contains(lease) {
        lost.append(item)
      } else if isStoreToBlame {
        requeue(item)
      } else if lease == decoding, worker.fetches.contains(lease), !end.isInStore {
        victim = item
      } else if worker.fetches.contains(lease), end.isInStore || decoding == nil, end.isCrash {
        lost.append(item)
      } else if worker.fetches.contains(lease), let failure = deathFailure(of: item, end: end) {
        complete(item, with: .failed(failure))
      } else {
        requeue(item)
      }
    }
    settleLosses(lost, of: worker, end: end)
    if let victim { settleVictim(victim, of: worker, end: end) }
  }

  /// The item begins again with a look-up, because what its worker stored without saying so is a
  /// hit. What bypasses the store is fetched again, what was uploaded is decoded again, and what
  /// was asked about is asked about again.
  private mutating func requeue(_ held: WorkItem) {
    let isLookedUp =
      !held.key.request.bypassesStore && !held.key.isRevalidation && held.picture == nil
    if isLookedUp { awaitLookup(held) } else { awaitTransfer(held) }
    reviewSources()
  }

  /// The picture on the dead worker's decoder: blamed when the evidence is enough, tried again
  /// else.
  private mutating func settleVictim(_ item: WorkItem, of worker: ReadyWorker, end: WorkerEnd) {
    guard let id = item.source, var source = sources[id] else { return requeue(item) }
    var blame: Failure?
    switch (worker.condemnation, end) {
    case (.decodeTimeout(item.stage.lease), _):
      blame = Self.blame(
        .decodeTimeout, "decoding took longer than \(limits.decodeTimeoutMilliseconds) ms")
    case (.hung, _), (.overdue, _), (.decodeTimeout, .killed), (_, .left):
      // The kill was ours, and not because of this picture.
      break
    case (_, .crashed(let how)), (_, .crashedInStore(let how)), (_, .ranOutOfMemory(let how)):
      source.noteCrash(end)
      if source.crashCount >= Self.crashMaximum { blame = crashFailure(of: source, how) }
    case (_, .killed(let how)):
      source.killCount += 1
      if source.killCount >= Self.killMaximum {
        blame = Self.blame(
          .decodeCrash, "\(source.killCount) workers were killed while decoding it: \(how)")
      }
    }
    sources[id] = source
    guard let blame else { return requeue(item) }
    complete(item, with: .failed(blame))
    // In another size it would kill just the same.
    for member in source.members {
      // Looked up anew: the one before may have set it going.
      guard let other = items[member], other.stage.lease == nil else { continue }
      complete(other, with: .failed(blame))
    }
  }

  /// Only where memory is the reason of each crash, a larger limit may help.
  private func crashFailure(of source: Source, _ how: String) -> Failure {
    source.memoryCrashCount == source.crashCount
      ? .outOfMemory(workerMemory: limits.workerMemoryByteCount)
      : Self.blame(.decodeCrash, "the decoder crashed \(source.crashCount) times: \(how)")
  }

  private static func blame(_ code: Failure.Code, _ detail: String) -> Failure {
    Failure(stage: .decode, code: code, detail: detail)
  }

  /// Why a fetch is given up that too many workers held when they ended; `nil` when it is not.
  private func deathFailure(of item: WorkItem, end: WorkerEnd) -> Failure? {
    guard let count = item.source.flatMap({ sources[$0]?.deathCount }), count >= Self.deathMaximum
    else { return nil }
    let detail = "\(count) workers ended while they fetched it; the last one \(end.reason)"
    return Failure(stage: .fetch, code: .internal, detail: detail)
  }

  /// What a worker fetched that crashed outside of a decode, or what it was ended for.
  private mutating func settleLosses(_ lost: [WorkItem], of worker: ReadyWorker, end: WorkerEnd) {
    let reason =
      switch (end, worker.condemnation) {
      case (.crashed(let how), _), (.crashedInStore(let how), _), (.ranOutOfMemory(let how), _): how
      case (.left, .hung), (.killed, .hung): "ended, because its loop hung in this transfer"
      case (.left, _), (.killed, _): "ended, because its answer was long overdue"
      }
    for source in Set(lost.compactMap(\.source)) { sources[source]?.lossCount += 1 }
    for item in lost {
      let count = item.source.flatMap { sources[$0]?.lossCount } ?? 0
      guard count >= Self.lossMaximum else {
        requeue(item)
        continue
      }
      let detail = "\(count) workers were lost while they fetched it; the last one \(reason)"
      complete(item, with: .failed(Failure(stage: .fetch, code: .internal, detail: detail)))
    }
  }
}

extension Source {
  fileprivate mutating func noteCrash(_ end: WorkerEnd) {
    crashCount += 1
    if case .ranOutOfMemory = end { memoryCrashCount += 1 }
  }
}

extension WorkerEnd {
  fileprivate var isInStore: Bool { if case .crashedInStore = self { true } else { false } }

  fileprivate var isCrash: Bool {
    switch self {
    case .crashed, .crashedInStore, .ranOutOfMemory: true
    case .left, .killed: false
    }
  }

  /// The predicate of a sentence whose subject is the worker.
  fileprivate var reason: String {
    switch self {
    case .left: "left"
    case .crashed(let how), .crashedInStore(let how), .ranOutOfMemory(let how), .killed(let how):
      how
    }
  }
}
