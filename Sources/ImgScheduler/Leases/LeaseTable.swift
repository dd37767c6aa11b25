package import ImgModel

/// All leases, by numbers that are never used again: an answer to a lease that has ended is late,
/// and changes nothing.
package struct LeaseTable {
  private var leases: [LeaseID: Lease] = [:]
  /// The look-ups that hold later lines up, and until when.
  private var lookupDeadlines = PriorityQueue<LeaseID, ContinuousClock.Instant>()
  private var lastNumber: UInt64 = 0
  /// Answers to leases that have ended.
  package private(set) var lateAnswerCount = 0

  package var isEmpty: Bool { leases.isEmpty }
  package var count: Int { leases.count }
  package var all: [LeaseID: Lease] { leases }

  /// - Returns: `nil` when the lease has ended.
  package subscript(id: LeaseID) -> Lease? { leases[id] }

  /// Since when the oldest of these leases is in its stage; `nil` when none is left.
  func oldestSince(of ids: [LeaseID]) -> ContinuousClock.Instant? {
    ids.compactMap { leases[$0]?.since }.min()
  }

  // MARK: - Granting

  mutating func grantLookup(
    of item: WorkID, to worker: WorkerID, at now: ContinuousClock.Instant
  ) -> LeaseID {
    grant(item, to: worker, at: now) { _ in .lookup }
  }

  /// The lease starts a transfer, which has its number.
  mutating func grantTransfer(
    of item: WorkID, to worker: WorkerID, at now: ContinuousClock.Instant
  ) -> LeaseID {
    grant(item, to: worker, at: now) { .transfer(TransferID(startedBy: $0)) }
  }

  /// The lease is attached to a transfer that another has started.
  mutating func grantAttached(
    of item: WorkID, to transfer: TransferID, by worker: WorkerID,
    at now: ContinuousClock.Instant
  ) -> LeaseID {
    grant(item, to: worker, at: now) { _ in .transfer(transfer) }
  }

  /// The picture is on the machine, so the lease needs no transfer.
  mutating func grantDecode(
    of item: WorkID, to worker: WorkerID, at now: ContinuousClock.Instant
  ) -> LeaseID {
    grant(item, to: worker, at: now) { _ in .decode }
  }

  private mutating func grant(
    _ item: WorkID, to worker: WorkerID, at now: ContinuousClock.Instant,
    purpose: (LeaseID) -> Lease.Purpose
  ) -> LeaseID {
    lastNumber += 1
    let id = LeaseID(rawValue: lastNumber)
    leases[id] = Lease(item: item, worker: worker, purpose: purpose(id), since: now)
    return id
  }

  // MARK: - Changing and ending

  /// The item enters another stage.
  ///
  /// - Precondition: the lease has not ended.
  mutating func enterStage(_ id: LeaseID, at now: ContinuousClock.Instant) {
    guard let index = leases.index(forKey: id) else {
      preconditionFailure("\(id) has ended")
    }
    leases.values[index].enterStage(at: now)
  }

  /// Ends a lease.
  ///
  /// - Returns: the lease; `nil` when the worker does not hold it: the answer is late.
  mutating func end(_ id: LeaseID, of worker: WorkerID) -> Lease? {
    guard let lease = leases[id], lease.worker == worker else {
      lateAnswerCount += 1
      return nil
    }
    leases[id] = nil
    lookupDeadlines.remove(id)
    return lease
  }

  // MARK: - Look-ups that take long

  /// When the next look-up ceases to hold later lines up; `nil` when none does.
  var lookupDeadline: ContinuousClock.Instant? { lookupDeadlines.first?.priority }

  /// - Precondition: the lease has not ended, and is one of a look-up.
  mutating func setLookupDeadline(_ moment: ContinuousClock.Instant, of id: LeaseID) {
    guard let lease = leases[id], lease.purpose == .lookup else {
      preconditionFailure("\(id) is no look-up")
    }
    lookupDeadlines.set(id, to: moment)
  }

  /// Takes the look-ups that hold later lines up no more.
  mutating func takeOverdueLookups(at now: ContinuousClock.Instant) -> [Lease] {
    var overdue: [Lease] = []
    while let (id, until) = lookupDeadlines.first, until <= now {
      lookupDeadlines.remove(id)
      guard let lease = leases[id] else { preconditionFailure("\(id) has ended") }
      overdue.append(lease)
    }
    return overdue
  }
}
