import ImgWire

/// Work items: joined, leased, ended.
extension Scheduler {
  /// Makes `waiter` wait for the URL in the variant; joins whoever waits for it already.
  ///
  /// - Returns: the item, and whether it is new.
  mutating func join(
    _ waiter: WorkItem.Waiter, url: ImageURL, options: RequestOptions, at now: Moment
  ) -> (id: WorkID, isNew: Bool) {
    let key = WorkItem.Key(url: url, variant: options.variant)
    let expireAfter = options.expireAfterMilliseconds ?? limits.defaultExpiryMilliseconds
    // Taken out of the dictionary while it changes, so that its list of waiters grows in place.
    if let id = itemsByKey[key], var item = items.removeValue(forKey: id) {
      let urgency = item.urgency
      item.join(
        waiter, expireAfterMilliseconds: expireAfter, priority: options.priority)
      items[id] = item
      if item.urgency != urgency { queue(item) }
      if item.stage.lease != nil { beganRunning([waiter], at: now) }
      return (id, false)
    }
    lastItem += 1
    let id = WorkID(rawValue: lastItem)
    let item = WorkItem(
      id: id, key: key, waiter: waiter, expireAfterMilliseconds: expireAfter,
      priority: options.priority)
    items[id] = item
    itemsByKey[key] = id
    return (id, true)
  }

  /// Puts an item that waits where its urgency belongs.
  mutating func queue(_ item: WorkItem) {
    switch item.stage {
    case .awaitingLookup:
      urgentLookups.set(item.id, to: item.urgency)
    case .awaitingTransfer:
      transferQueue.insert(item.id, host: item.key.url.authority, urgency: item.urgency)
    case .lookingUp, .transferring, .decoding:
      break
    }
  }

  /// Somebody stopped waiting. The last one to leave ends the item: at once when it waits, by way
  /// of its worker when it runs.
  mutating func leave(_ id: WorkID, where isLeaving: (WorkItem.Waiter) -> Bool) {
    guard var item = items[id] else { return }
    let leaving = item.leave(where: isLeaving)
    items[id] = item
    if item.stage.lease != nil { stoppedRunning(leaving) }
    guard item.waiters.isEmpty else {
      queue(item)
      return
    }
    // Whoever asks from now on begins anew: what is being aborted cannot be joined.
    itemsByKey[item.key] = nil
    guard let lease = item.stage.lease else {
      urgentLookups.remove(id)
      transferQueue.remove(id, host: item.key.url.authority)
      items[id] = nil
      return
    }
    if let worker = leases[lease]?.worker, workers[worker]?.fetches.contains(lease) == true {
      effects.append(.send(.cancel(LeaseList(leases: [lease])), to: worker))
    }
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
    workers[worker]?.lookups.remove(lease)
    workers[worker]?.fetches.remove(lease)
    if item.stage == .transferring(lease) {
      transferQueue.release(host: item.key.url.authority)
    }
    return item
  }

  /// Tells everybody who waits. The first to wait is the one for whom the bytes were fetched; who
  /// joined costs the origin nothing.
  mutating func complete(_ item: WorkItem, with outcome: Outcome) {
    items[item.id] = nil
    if itemsByKey[item.key] == item.id { itemsByKey[item.key] = nil }
    var share = outcome
    for waiter in item.waiters {
      switch waiter {
      case .line(let job, let index):
        jobs[job]?.takenUpCount -= 1
        record(share, job: job, index: index)
      case .viewer(let viewer):
        viewers[viewer] = nil
        effects.append(.answer(viewer, share))
      }
      if case .done(let thumbnail, let isFromCache, _) = outcome {
        share = .done(thumbnail, fromCache: isFromCache, bytesFetched: 0)
      }
    }
  }

  /// A worker that held the item is gone: it begins again with a look-up, because what the worker
  /// stored without saying so is a hit.
  mutating func requeue(_ item: WorkItem) {
    stoppedRunning(item.waiters)
    guard !item.waiters.isEmpty else {
      items[item.id] = nil
      return
    }
    var requeued = item
    requeued.stage = .awaitingLookup
    items[item.id] = requeued
    queue(requeued)
  }

  /// The lines among `waiters` are with a worker now.
  mutating func beganRunning(_ waiters: [WorkItem.Waiter], at now: Moment) {
    for case .line(let job, _) in waiters {
      lineBeganRunning(of: job, at: now)
    }
  }

  /// A line has left the queue; the job's first one starts the job.
  mutating func lineBeganRunning(of id: JobID, at now: Moment) {
    jobs[id]?.runningCount += 1
    guard let job = jobs[id], job.record.startedAt == nil else { return }
    jobs[id]?.record.startedAt = now.wall
    effects.append(.journal(.start(id, at: now.wall)))
  }

  /// The lines among `waiters` are in the queue again, or left.
  mutating func stoppedRunning(_ waiters: [WorkItem.Waiter]) {
    for case .line(let job, _) in waiters {
      jobs[job]?.runningCount -= 1
    }
  }

  /// Hands an outcome to the journal; the line counts as running until it is durable.
  mutating func record(_ outcome: Outcome, job: JobID, index: Int) {
    unrecordedCount += 1
    effects.append(.journal(.record(job, index: index, outcome)))
  }
}
