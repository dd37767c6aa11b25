import ImgWire

/// Giving out work: called after every event, does all that the limits permit at that moment.
///
/// The next look-up is chosen by ``nextForLookup(at:)``, the next transfer by
/// ``TransferQueue/next()``, the worker by ``worker(for:where:load:)``.
extension Scheduler {
  /// Lines without an outcome that may be taken up at once, shared evenly by the jobs: what does
  /// not start soon stays on disk, and a job that waits for a slow host holds no other up.
  static let takenUpMaximum = 4_096
  /// What each job may take up however many there are.
  static let takenUpMinimumPerJob = 64
  /// Outcomes that may wait for the journal. Beyond it nothing starts, so that a journal that
  /// cannot write (a full disk) holds the work up instead of filling the memory.
  static let unrecordedMaximum = 16_384

  mutating func dispatch(at now: Moment) {
    guard !isDraining else { return reportDrainedWhenDone() }
    guard unrecordedCount < Self.unrecordedMaximum else { return }
    dispatchTransfers(at: now)
    dispatchLookups(at: now)
  }

  // MARK: - Look-ups

  private mutating func dispatchLookups(at now: Moment) {
    var batches = BatchCollector()
    while workers.values.contains(where: \.takesLookups), let id = nextForLookup(at: now) {
      guard var item = items[id],
        let worker = worker(for: item, where: \.takesLookups, load: \.lookups.count)
      else { preconditionFailure("what is next is there, and somebody takes it") }
      let lease = grantLease(to: worker, for: id)
      workers[worker]?.lookups.insert(lease)
      item.stage = .lookingUp(lease)
      items[id] = item
      beganRunning(item.waiters, at: now)
      batches.add(item, lease: lease, worker: worker)
    }
    effects += batches.messages { .lookup($0) }
  }

  /// Whoever waits in person first, then the jobs in turn.
  private mutating func nextForLookup(at now: Moment) -> WorkID? {
    if let id = urgentLookups.removeFirst() { return id }
    while let (job, line) = nextLine() {
      if let id = takeUp(line, of: job, at: now) { return id }
    }
    return nil
  }

  private mutating func nextLine() -> (JobID, JobLine)? {
    let share = max(Self.takenUpMaximum / max(jobs.count, 1), Self.takenUpMinimumPerJob)
    let next = turns.next(
      where: { id in jobs[id].map { !$0.window.isEmpty && $0.takenUpCount < share } ?? false },
      isActive: { jobs[$0] != nil })
    guard let next, let line = jobs[next]?.window.removeFirst() else { return nil }
    readOn(next)
    return (next, line)
  }

  // MARK: - Transfers

  private mutating func dispatchTransfers(at now: Moment) {
    var batches = BatchCollector()
    while workers.values.contains(where: \.takesFetches), let id = transferQueue.next() {
      guard var item = items[id],
        let worker = worker(for: item, where: \.takesFetches, load: \.fetches.count)
      else { preconditionFailure("what is next is there, and somebody takes it") }
      let lease = grantLease(to: worker, for: id)
      workers[worker]?.fetches.insert(lease)
      item.stage = .transferring(lease)
      item.wasFetched = true
      items[id] = item
      beganRunning(item.waiters, at: now)
      batches.add(item, lease: lease, worker: worker)
    }
    effects += batches.messages { .fetch($0) }
  }

  // MARK: - Workers and leases

  /// How much more the URL's own worker may hold than the idlest before the idlest takes the URL.
  private static let stealingThreshold = 4

  /// The URL's own worker by rendezvous hashing, unless it takes no more or another is clearly
  /// idler.
  private func worker(
    for item: WorkItem, where takesMore: (ReadyWorker) -> Bool, load: (ReadyWorker) -> Int
  ) -> WorkerID? {
    let own = workers.values.max {
      let left = RendezvousHash.weight(digest: item.digest, slot: $0.slot)
      let right = RendezvousHash.weight(digest: item.digest, slot: $1.slot)
      return (left, $0.id) < (right, $1.id)
    }
    let idlest = workers.values.filter(takesMore).min {
      (load($0), $0.id) < (load($1), $1.id)
    }
    guard let own, let idlest else { return nil }
    let isOwnTaken = takesMore(own) && load(own) <= load(idlest) + Self.stealingThreshold
    return isOwnTaken ? own.id : idlest.id
  }

  private mutating func grantLease(to worker: WorkerID, for item: WorkID) -> LeaseID {
    lastLease += 1
    let lease = LeaseID(rawValue: lastLease)
    leases[lease] = Lease(item: item, worker: worker)
    return lease
  }
}

/// Gathers assignments into one message for each worker and kind of request.
private struct BatchCollector {
  private struct Group: Hashable {
    let worker: WorkerID
    let variant: Variant
    let expireAfterMilliseconds: Int64
  }

  private var groups: [Group: [Assignment]] = [:]
  private var order: [Group] = []

  mutating func add(_ item: WorkItem, lease: LeaseID, worker: WorkerID) {
    let group = Group(
      worker: worker, variant: item.key.variant,
      expireAfterMilliseconds: item.expireAfterMilliseconds)
    if groups[group] == nil { order.append(group) }
    groups[group, default: []].append(Assignment(lease: lease, url: item.key.url.text))
  }

  func messages(_ message: (Batch) -> CoordinatorMessage) -> [Effect] {
    order.flatMap { group in
      Self.framed(groups[group, default: []]).map { items in
        let batch = Batch(
          variant: group.variant, expireAfterMilliseconds: group.expireAfterMilliseconds,
          items: items)
        return .send(message(batch), to: group.worker)
      }
    }
  }

  /// Cuts a batch so that each part fits a frame whatever its URLs are: JSON may write a byte as
  /// six.
  private static func framed(_ items: [Assignment]) -> [[Assignment]] {
    let byteCountMaximum = Frame.maximumByteCount / 8
    var parts: [[Assignment]] = [[]]
    var byteCount = 0
    for item in items {
      let itemByteCount = item.url.utf8.count + 64
      if byteCount + itemByteCount > byteCountMaximum, !(parts.last ?? []).isEmpty {
        parts.append([])
        byteCount = 0
      }
      parts[parts.count - 1].append(item)
      byteCount += itemByteCount
    }
    return parts
  }
}
