package import ImgModel

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
  /// The host that is asked, or waited for: of the URL, or of the last redirect.
  package fileprivate(set) var host: String
  /// The same as an origin.
  package fileprivate(set) var origin: String
  /// Every lease that lives on it, each of another variant.
  package fileprivate(set) var leases: [LeaseID]
  package fileprivate(set) var state: State
  /// Whether it has failed and its URL is tried again; `nil` while it has not failed.
  package fileprivate(set) var isRetried: Bool?
  /// Why it is being ended in favour of others, see ``SlowTransfers``; `nil` if it is not.
  fileprivate var displacement: Failure?
  /// Whether its failure is known to its host's health.
  fileprivate(set) var isHealthNoted = false

  fileprivate init(
    source: SourceID, worker: WorkerID, host: String, origin: String, lease: LeaseID
  ) {
    self.source = source
    self.worker = worker
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
  private var transfers: [TransferID: LeasedTransfer] = [:]
  /// The transfers that wait for a slot where their redirects lead, and until when.
  private var redirectDeadlines = PriorityQueue<TransferID, ContinuousClock.Instant>()

  package var isEmpty: Bool { transfers.isEmpty }
  package var all: [TransferID: LeasedTransfer] { transfers }
  package var withDeadlines: [TransferID] { redirectDeadlines.keys }

  /// - Returns: `nil` when the transfer is over.
  package subscript(id: TransferID) -> LeasedTransfer? { transfers[id] }

  // MARK: - Leases

  /// A lease begins a transfer.
  ///
  /// - Returns: its name.
  mutating func begin(
    of source: SourceID, by worker: WorkerID, host: String, origin: String, lease: LeaseID
  ) -> TransferID {
    let id = TransferID(startedBy: lease)
    precondition(transfers[id] == nil, "\(id) begins twice")
    transfers[id] = LeasedTransfer(
      source: source, worker: worker, host: host, origin: origin, lease: lease)
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
    guard let transfer = transfers[id], transfer.leases.isEmpty else { return nil }
    transfers[id] = nil
    redirectDeadlines.remove(id)
    return transfer
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
    _ id: TransferID, to host: String, origin: String, until deadline: ContinuousClock.Instant
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
  var redirectDeadline: ContinuousClock.Instant? { redirectDeadlines.first?.priority }

  /// A transfer that has waited too long for a slot.
  func overdueRedirect(at now: ContinuousClock.Instant) -> TransferID? {
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
  mutating func setRetried(_ isRetried: Bool, _ id: TransferID) {
    change(id) { $0.isRetried = isRetried }
  }

  @discardableResult
  private mutating func change<Result>(
    _ id: TransferID, _ body: (inout LeasedTransfer) -> Result
  ) -> Result {
    guard let index = transfers.index(forKey: id) else { preconditionFailure("\(id) is over") }
    return body(&transfers.values[index])
  }
}
