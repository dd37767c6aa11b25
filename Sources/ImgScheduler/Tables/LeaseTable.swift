package import ImgModel

/// A worker's hold on a work item.
package struct Lease {
  /// What the worker does for the item.
  package enum Purpose: Hashable {
    case lookup
    /// A fetch. The lease started this transfer, or is attached to it.
    case transfer(TransferID)
    /// The decode of a picture that is on the machine: an upload, the original in the store, or a
    /// `data:` or `file:` URL.
    case decode
  }

  package let item: WorkID
  package let worker: WorkerID
  package let purpose: Purpose
  /// Since when the item is in its stage.
  package private(set) var since: Instant

  init(item: WorkID, worker: WorkerID, purpose: Purpose, since: Instant) {
    self.item = item
    self.worker = worker
    self.purpose = purpose
    self.since = since
  }

  /// The transfer that the item is made from; `nil` for a look-up or a decode.
  package var transfer: TransferID? {
    if case .transfer(let transfer) = purpose { transfer } else { nil }
  }

  /// The item enters another stage.
  mutating func enterStage(at now: Instant) { since = now }

  /// A time passes that does not count for its stage.
  mutating func exclude(_ time: Duration, at now: Instant) { since = min(since + time, now) }
}

extension Lease {
  /// A lease on its way to its worker.
  struct Granted {
    let item: WorkItem
    let lease: LeaseID
    let worker: WorkerID
  }
}

/// All leases, by numbers that are never used again: an answer to a lease that has ended is late,
/// and changes nothing.
package struct LeaseTable {
  private var leases = NumberedTable<LeaseID, Lease>()
  /// The look-ups that hold later lines up, and until when: in the order in which they began, with some that have
  /// ended. The first has not.
  private var lookupDeadlines = FIFO<(lease: LeaseID, until: Instant)>()
  private var lastNumber: UInt64 = 0
  /// Answers to leases that have ended.
  package private(set) var lateAnswerCount = 0

  package var isEmpty: Bool { leases.isEmpty }
  package var count: Int { leases.count }
  package var all: NumberedTable<LeaseID, Lease> { leases }

  /// - Returns: `nil` when the lease has ended.
  package subscript(id: LeaseID) -> Lease? { leases[id] }

  /// Since when the oldest of these leases is in its stage; `nil` when none is left.
  func oldestSince(of ids: [LeaseID]) -> Instant? {
    ids.compactMap { leases[$0]?.since }.min()
  }

  // MARK: - Granting

  /// - Parameter purpose: `nil` if the lease starts a transfer, which then has its number.
  mutating func grant(
    _ purpose: Lease.Purpose?, of item: WorkID, to worker: WorkerID, at now: Instant
  ) -> LeaseID {
    lastNumber += 1
    let id = LeaseID(rawValue: lastNumber)
    let purpose = purpose ?? .transfer(TransferID(startedBy: id))
    leases.set(id, to: Lease(item: item, worker: worker, purpose: purpose, since: now))
    return id
  }

  // MARK: - Changing and ending

  /// The item enters another stage.
  ///
  /// - Precondition: the lease has not ended.
  mutating func enterStage(_ id: LeaseID, at now: Instant) {
    leases.change(id) { $0.enterStage(at: now) }
  }

  /// See ``Lease/exclude(_:at:)``. Ignores a lease that has ended.
  mutating func exclude(_ time: Duration, from id: LeaseID, at now: Instant) {
    if leases[id] != nil { leases.change(id) { $0.exclude(time, at: now) } }
  }

  /// Ends a lease.
  ///
  /// - Returns: the lease; `nil` when the worker does not hold it: the answer is late.
  mutating func end(_ id: LeaseID, of worker: WorkerID) -> Lease? {
    guard let lease = leases[id], lease.worker == worker else {
      lateAnswerCount += 1
      return nil
    }
    leases.remove(id)
    dropEndedLookups()
    return lease
  }

  // MARK: - Look-ups that take long

  /// When the next look-up ceases to hold later lines up; `nil` when none does.
  var lookupDeadline: Instant? { lookupDeadlines.first?.until }

  /// - Precondition: the lease has not ended, is one of a look-up, and has the latest deadline.
  mutating func setLookupDeadline(_ moment: Instant, of id: LeaseID) {
    precondition(leases[id]?.purpose == .lookup, "\(id) is no look-up")
    lookupDeadlines.append((id, moment))
  }

  private mutating func dropEndedLookups() {
    while let first = lookupDeadlines.first, !leases.contains(first.lease) {
      _ = lookupDeadlines.removeFirst()
    }
  }

  /// Takes the look-ups that hold later lines up no more.
  mutating func takeOverdueLookups(at now: Instant) -> [Lease] {
    var overdue: [Lease] = []
    while let (id, until) = lookupDeadlines.first, until <= now {
      guard let lease = leases[id] else { preconditionFailure("\(id) has ended") }
      overdue.append(lease)
      _ = lookupDeadlines.removeFirst()
      dropEndedLookups()
    }
    return overdue
  }
}

/// What a failure means for a URL.
package enum RetryVerdict: Equatable {
  /// It has failed.
  case final
  /// It is tried again.
  case retried
  /// It is tried again when the network works, see ``NetworkHealth``.
  case held

  init(_ isRetried: Bool) { self = isRetried ? .retried : .final }
}

/// A fetch of a source: its body is on its way, or decoded. Named by the lease that began it.
package struct LeasedTransfer {
  package enum State: Equatable {
    /// The last byte is still to come.
    case receiving
    /// A redirect leads to another host, where it waits for a slot. The host that sent the redirect
    /// starts no other transfer in its place.
    case redirected(from: String)
    /// It waited too long, or for a host that is down: its leases are being cancelled.
    case refused(from: String, because: Failure)
    /// The body is in.
    case ended
  }

  package let source: SourceID
  let worker: WorkerID
  let startedAt: Instant
  /// The host that is asked, or waited for: of the URL, or of the last redirect.
  package fileprivate(set) var host: String
  /// The same as an origin.
  package fileprivate(set) var origin: String
  /// Every lease that lives on it, each of another variant.
  package fileprivate(set) var leases: [LeaseID]
  package fileprivate(set) var state: State
  /// What it is at, as far as its worker tells.
  package fileprivate(set) var phase = TransferPhase.receiving
  /// What its failure means for its URL; `nil` while it has not failed.
  package fileprivate(set) var verdict: RetryVerdict?
  /// Why it is being ended in favour of others, see ``SlowTransfers``; `nil` if it is not.
  fileprivate var displacement: Failure?
  /// Whether its failure is known to its host's health.
  fileprivate(set) var isHealthNoted = false

  fileprivate init(
    source: SourceID, worker: WorkerID, host: String, origin: String, lease: LeaseID,
    startedAt: Instant
  ) {
    self.source = source
    self.worker = worker
    self.startedAt = startedAt
    self.host = host
    self.origin = origin
    leases = [lease]
    state = .receiving
  }

  /// Whether it holds a slot of its host, and one of the cluster unless it is slow and has given that up.
  package var holdsSlot: Bool { state == .receiving }

  /// Whether it waits for a slot where its redirect leads.
  package var isWaitingAfterRedirect: Bool {
    if case .redirected = state { true } else { false }
  }

  /// The host that has redirected it and starts no other transfer in its place; `nil` while it is
  /// not redirected.
  package var redirectingHost: String? {
    switch state {
    case .redirected(let host), .refused(let host, _): host
    case .receiving, .ended: nil
    }
  }

  /// Why it was given up; `nil` when it was not.
  var refusal: Failure? {
    if case .refused(_, let failure) = state { failure } else { displacement }
  }
}

/// The transfers, and until when those wait that were redirected.
package struct TransferTable {
  private var transfers = NumberedTable<TransferID, LeasedTransfer>()
  /// The transfers that wait for a slot where their redirects lead, and until when.
  private var redirectDeadlines = PriorityQueue<TransferID, Instant>()

  package var isEmpty: Bool { transfers.isEmpty }
  package var all: NumberedTable<TransferID, LeasedTransfer> { transfers }
  package var withDeadlines: [TransferID] { redirectDeadlines.keys }

  /// - Returns: `nil` when the transfer is over.
  package subscript(id: TransferID) -> LeasedTransfer? { transfers[id] }

  // MARK: - Leases

  /// A lease begins a transfer.
  ///
  /// - Returns: its name.
  mutating func begin(
    of source: SourceID, by worker: WorkerID, host: String, origin: String, lease: LeaseID,
    at now: Instant
  ) -> TransferID {
    let id = TransferID(startedBy: lease)
    precondition(transfers[id] == nil, "\(id) begins twice")
    transfers.set(
      id,
      to: LeasedTransfer(
        source: source, worker: worker, host: host, origin: origin, lease: lease, startedAt: now))
    return id
  }

  /// - Precondition: the transfer is not over.
  mutating func attach(_ lease: LeaseID, to id: TransferID) {
    change(id) { $0.leases.append(lease) }
  }

  /// One of its leases has ended. The last one ends the transfer, whose slot is free again.
  ///
  /// - Precondition: the lease is one of the transfer's.
  /// - Returns: the transfer as it was before when it is over; `nil` when other leases live on it.
  mutating func detach(_ lease: LeaseID, from id: TransferID) -> LeasedTransfer? {
    change(id) { transfer in
      guard let index = transfer.leases.firstIndex(of: lease) else {
        preconditionFailure("\(lease) does not live on \(id)")
      }
      transfer.leases.remove(at: index)
    }
    guard transfers.read(id, { $0.leases.isEmpty }) == true else { return nil }
    redirectDeadlines.remove(id)
    return transfers.remove(id)
  }

  // MARK: - States

  /// The last byte is in.
  ///
  /// - Precondition: the transfer is receiving.
  mutating func end(_ id: TransferID) {
    change(id) { transfer in
      precondition(transfer.state == .receiving, "\(id) receives nothing")
      transfer.state = .ended
    }
  }

  /// A redirect leads to another host.
  ///
  /// - Parameter deadline: until when it waits for a slot there.
  /// - Precondition: the transfer is receiving.
  mutating func redirect(
    _ id: TransferID, to host: String, origin: String, until deadline: Instant
  ) {
    change(id) { transfer in
      precondition(transfer.state == .receiving, "\(id) receives nothing")
      transfer.state = .redirected(from: transfer.host)
      transfer.host = host
      transfer.origin = origin
    }
    redirectDeadlines.set(id, to: deadline)
  }

  /// The transfer has a slot where its redirect leads.
  ///
  /// - Precondition: it waits for one.
  /// - Returns: the transfer as it goes on, and the host that had redirected it.
  mutating func resume(_ id: TransferID) -> (transfer: LeasedTransfer, redirectingHost: String) {
    redirectDeadlines.remove(id)
    return change(id) { transfer in
      guard case .redirected(let host) = transfer.state else {
        preconditionFailure("\(id) waits for no slot")
      }
      transfer.state = .receiving
      transfer.isHealthNoted = false
      return (transfer, host)
    }
  }

  /// The transfer is given up while it waits for a slot where its redirect leads.
  ///
  /// - Precondition: it waits for one.
  /// - Returns: the transfer.
  mutating func refuse(_ id: TransferID, because failure: Failure) -> LeasedTransfer {
    redirectDeadlines.remove(id)
    return change(id) { transfer in
      guard case .redirected(let host) = transfer.state else {
        preconditionFailure("\(id) waits for no slot")
      }
      transfer.state = .refused(from: host, because: failure)
      // The host was not asked.
      transfer.isHealthNoted = true
      return transfer
    }
  }

  /// The transfer ends in favour of others: its leases are being cancelled.
  ///
  /// - Precondition: it is receiving.
  /// - Returns: the transfer.
  mutating func displace(_ id: TransferID, because failure: Failure) -> LeasedTransfer {
    change(id) { transfer in
      precondition(transfer.state == .receiving, "\(id) receives nothing")
      transfer.displacement = failure
      // This program ends it, and not its host.
      transfer.isHealthNoted = true
      return transfer
    }
  }

  /// When the next transfer has waited too long for a slot; `nil` while none waits.
  var redirectDeadline: Instant? { redirectDeadlines.first?.priority }

  /// A transfer that has waited too long for a slot.
  func overdueRedirect(at now: Instant) -> TransferID? {
    redirectDeadlines.first.flatMap { $0.priority <= now ? $0.key : nil }
  }

  // MARK: - Failures

  /// The transfer's failure counts for its host's health once.
  ///
  /// - Precondition: the transfer is not over.
  /// - Returns: whether it counts now.
  mutating func noteHealth(of id: TransferID) -> Bool {
    change(id) { transfer in
      defer { transfer.isHealthNoted = true }
      return !transfer.isHealthNoted
    }
  }

  /// - Precondition: the transfer is not over.
  mutating func setPhase(_ phase: TransferPhase, _ id: TransferID) {
    change(id) { $0.phase = phase }
  }

  /// - Precondition: the transfer is not over.
  mutating func setVerdict(_ verdict: RetryVerdict, _ id: TransferID) {
    change(id) { $0.verdict = verdict }
  }

  @discardableResult
  private mutating func change<Result>(
    _ id: TransferID, _ body: (inout LeasedTransfer) -> Result
  ) -> Result {
    transfers.change(id, body)
  }
}
