import ImgModel
import ImgWire

/// Sources: one transfer for all variants of a URL.
extension Scheduler {
  /// A look-up has missed, or what the item was to ride on is gone: it needs its URL's body. That
  /// of a picture from no origin is at hand.
  mutating func awaitTransfer(_ missed: WorkItem) {
    // A picture in its own URL costs nobody anything.
    let isAtHand = missed.url.isLocal && !missed.url.isFile
    guard isAtHand || missed.key.request.fetch.cachePolicy != .cacheOnly else {
      return fail([(missed, Self.notCached)])
    }
    guard !missed.url.isLocal else { return awaitDecode(missed) }
    guard !isStaleWorthAsking(of: missed) else { return awaitLookup(missed) }
    var item = missed
    giveTurns(&item)
    let source = joinSource(&item)
    guard park(&item, in: .awaitingTransfer) else { return }
    guard !isCrowded(item) else { return sendBack(item) }
    sourcesToReview.append(source)
  }

  private static var notCached: Failure {
    Failure(
      stage: .store, code: .notCached,
      detail: "the store has not got it, and --cache-policy cache-only fetches nothing")
  }

  /// A look-up has found the original of the item's URL, or nothing has to be fetched: it needs a
  /// decoder.
  mutating func awaitDecode(_ found: WorkItem) {
    var item = found
    giveTurns(&item)
    // Its source has the blame when the original kills a worker.
    _ = joinSource(&item)
    guard park(&item, in: .awaitingDecode) else { return }
    guard !isCrowded(item) else { return sendBack(item) }
    originals.set(item.id, to: item.urgency)
  }

  /// Whether the item came about by lines alone, of jobs that have too much of its host waiting
  /// already, or earlier lines of it that went back: they were taken up before it was known that the
  /// host's URLs have to wait.
  private func isCrowded(_ item: WorkItem) -> Bool {
    guard !item.wasFetched, !item.key.isRevalidation,
      item.source.flatMap({ sources[$0]?.joinable }) == nil,
      item.waiters.allSatisfy({ $0.viewer == nil })
    else { return false }
    return item.jobs.allSatisfy { id in
      guard let job = jobs[id], let backlog = job.backlogs[item.host] else { return false }
      let indices = item.waiters.compactMap { $0.isLine(of: id) ? $0.index : nil }
      return backlog.waiting - indices.count >= job.backlogMaximum
        || indices.allSatisfy { job.isLagging(item.host, before: $0) }
    }
  }

  mutating func joinSource(_ item: inout WorkItem) -> SourceID {
    if let source = item.source { return source }
    let key = Source.Key(name: item.key.name, host: item.host)
    let id = sourcesByKey[key] ?? SourceID(rawValue: item.id.rawValue)
    item.source = id
    sourcesByKey[key] = id
    sources[id, default: Source(id: id, key: key)].members.append(item.id)
    return id
  }

  mutating func leaveSource(_ item: WorkItem) {
    guard let id = item.source, var source = sources[id] else { return }
    source.members.removeAll { $0 == item.id }
    sources[id] = source
    guard source.members.isEmpty else { return sourcesToReview.append(id) }
    dequeue(source)
    backoffs.remove(id)
    sources[id] = nil
    sourcesByKey[source.key] = nil
  }

  /// The source waits for no transfer of its own.
  private mutating func dequeue(_ source: Source) {
    guard source.isQueued else { return }
    sources[source.id]?.isQueued = false
    transferQueue.remove(source.id, host: source.key.host, at: now.instant)
  }

  /// Looks at the sources whose items or transfers have changed, in the order of the changes.
  mutating func reviewSources() {
    while let id = sourcesToReview.removeFirst() { review(id) }
  }

  /// Looks at a source now.
  mutating func reviewNow(_ id: SourceID) {
    sourcesToReview.append(id)
    reviewSources()
  }

  /// Puts a URL where the most urgent of the items that wait for it belongs, or attaches them to the
  /// transfer that can be joined. Items that wait for a picture known to be missing, or for a host
  /// that is down, end.
  private mutating func review(_ id: SourceID) {
    guard let source = sources[id] else { return }
    if source.joinable != nil { joinTransfer(of: source) }
    let waiting = waitingItems(of: source)
    if let command = waiting.lazy.flatMap(\.waiters).compactMap(\.command).max() {
      transferQueue.wantProbe(of: source.key.host, for: command, at: now.instant)
    }
    if let transfer = source.joinable {
      waiting.forEach { board($0, transfer) }
      return
    }
    let hopeless = hopelessItems(of: source, among: waiting)
    guard hopeless.isEmpty else {
      dequeue(source)
      return fail(hopeless)
    }
    if let retryAt = source.retryAt, !waiting.isEmpty {
      dequeue(source)
      backoffs.set(id, to: retryAt)
    } else if let mostUrgent = waiting.map(\.urgency).min() {
      sources[id]?.isQueued = true
      transferQueue.insert(id, host: source.key.host, urgency: mostUrgent, at: now.instant)
    } else {
      dequeue(source)
    }
  }

  /// The items that end without a transfer, and why.
  private func hopelessItems(
    of source: Source, among waiting: [WorkItem]
  ) -> [(item: WorkItem, failure: Failure)] {
    var hopeless: [(item: WorkItem, failure: Failure)] = []
    for index in waiting.indices {
      // With the first ones gone, a remembered failure may be good enough for the others.
      guard let failure = reasonToGiveUp(source, for: Array(waiting[index...])) else { break }
      hopeless.append((waiting[index], failure))
    }
    return hopeless
  }

  /// Why the source is not asked for now; `nil` when it is.
  private func reasonToGiveUp(_ source: Source, for waiting: [WorkItem]) -> Failure? {
    if let failure = rememberedFailure(of: source, for: waiting) { return failure }
    let host = source.key.host
    return transferQueue.downBecause(host, at: now.instant).map { last in
      last.explained("\(host) is down, and was not asked again: \(last.detail)")
    }
  }

  func waitingItems(of source: Source) -> [WorkItem] {
    source.members.compactMap { items[$0] }.filter { $0.stage == .awaitingTransfer }
  }

  // MARK: - Transfers

  /// The item's lease begins a transfer, whose places have been taken.
  mutating func beginTransfer(of waiting: WorkItem, by worker: WorkerID) -> Lease.Granted {
    var item = waiting
    let (lease, source) = begin(item, by: worker, asksOrigin: true)
    sources[source]?.joinable = lease
    sources[source]?.isQueued = false
    item.noteFetch()
    move(&item, to: .transferring(lease))
    return Lease.Granted(item: item, lease: lease, worker: worker)
  }

  /// The item's lease begins the decode of what is at hand. Nobody joins: each variant finds an
  /// original by its own look-up.
  mutating func beginDecode(of waiting: WorkItem, by worker: WorkerID) -> Lease.Granted {
    var item = waiting
    let (lease, _) = begin(item, by: worker, asksOrigin: false)
    workers[worker]?.decodes.insert(lease)
    item.noteFetch()
    move(&item, to: .decoding(lease))
    return Lease.Granted(item: item, lease: lease, worker: worker)
  }

  private mutating func begin(
    _ item: WorkItem, by worker: WorkerID, asksOrigin: Bool
  ) -> (LeaseID, SourceID) {
    serve(item.urgency)
    let id = LeaseID(rawValue: lastLease + 1)
    let lease = grantLease(to: worker, for: item.id, transfer: id)
    guard let source = item.source else {
      preconditionFailure("what waits for a body has a source")
    }
    transfers[id] = Transfer(
      source: source, worker: worker, host: item.host, lease: lease, asksOrigin: asksOrigin)
    return (lease, source)
  }

  /// The item rides on a transfer, without a place of its own, if its worker takes one more lease;
  /// else it waits until one of the transfer's leases has ended.
  private mutating func board(_ waiting: WorkItem, _ id: LeaseID) {
    guard let transfer = transfers[id], !isDraining,
      workers[transfer.worker]?.takesRides == true
    else { return }
    var item = waiting
    serve(item.urgency)
    let lease = grantLease(to: transfer.worker, for: item.id, transfer: id)
    transfers[id]?.leases.append(lease)
    if transfer.state != .ended {
      workers[transfer.worker]?.rides.insert(lease)
    } else {
      workers[transfer.worker]?.decodes.insert(lease)
    }
    item.noteFetch()
    move(&item, to: transfer.state == .ended ? .decoding(lease) : .transferring(lease))
    if transfer.state == .redirected { queueRedirected(id) }
    var batches = BatchCollector()
    batches.add(Lease.Granted(item: item, lease: lease, worker: transfer.worker))
    effects += batches.messages { .attach($0) }
  }

  /// The last byte is in, or the transfer has failed: other URLs may use the places.
  mutating func releasePlace(of id: LeaseID) {
    guard let transfer = transfers[id] else { return }
    transfers[id]?.state = .ended
    switch transfer.state {
    case .receiving:
      transferQueue.release(transfer.source, host: transfer.host, at: now.instant)
    case .redirected: leaveRedirected(id)
    case .ended: break
    }
  }

  /// Nobody may join the transfer from now on; who waits gets one of their own.
  mutating func stopJoining(_ id: LeaseID) {
    guard let source = transfers[id]?.source, sources[source]?.joinable == id else { return }
    sources[source]?.joinable = nil
    sourcesToReview.append(source)
  }

  /// A transfer for which nobody waits any more is being aborted.
  mutating func stopJoiningAborted(_ id: LeaseID) {
    let isAborted = transfers[id]?.leases.allSatisfy { lease in
      leases[lease].flatMap { items[$0.item] }?.waiters.isEmpty ?? true
    }
    if isAborted == true { stopJoining(id) }
  }

  /// One of its leases has ended. The last one ends the transfer.
  private mutating func leaveTransfer(_ id: LeaseID, _ lease: LeaseID) {
    transfers[id]?.leases.removeAll { $0 == lease }
    guard let transfer = transfers[id] else { return }
    if transfer.leases.isEmpty {
      releasePlace(of: id)
      stopJoining(id)
      transfers[id] = nil
    } else {
      sourcesToReview.append(transfer.source)
    }
  }

  // MARK: - Leases

  mutating func grantLease(
    to worker: WorkerID, for item: WorkID, transfer: LeaseID?
  ) -> LeaseID {
    lastLease += 1
    let lease = LeaseID(rawValue: lastLease)
    leases[lease] = Lease(item: item, worker: worker, transfer: transfer, since: now.instant)
    if transfer == nil {
      workers[worker]?.lookups.insert(lease)
    } else {
      workers[worker]?.fetches.insert(lease)
    }
    return lease
  }

  /// Ends a lease and gives its places back.
  ///
  /// - Returns: the item, or `nil` when the lease is not `worker`'s any more: the answer is late.
  mutating func endLease(_ lease: LeaseID, of worker: WorkerID) -> WorkItem? {
    guard let held = leases[lease], held.worker == worker, let item = items[held.item] else {
      lateAnswerCount += 1
      return nil
    }
    leases[lease] = nil
    lookupDeadlines.remove(lease)
    workers[worker]?.lookups.remove(lease)
    workers[worker]?.fetches.remove(lease)
    workers[worker]?.rides.remove(lease)
    workers[worker]?.decodes.remove(lease)
    if let transfer = held.transfer { leaveTransfer(transfer, lease) }
    reviewSources()
    return item
  }
}
