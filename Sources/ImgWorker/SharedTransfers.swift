import ImgFetch
import ImgModel

/// The transfers whose bodies this worker receives or holds, and which lease is on which: single
/// flight by name. It decides and does nothing itself: the worker tells it what happened, and
/// carries out the answer.
///
/// A transfer is named by the lease that began it, also after that lease has left.
struct SharedTransfers {
  /// What a lease finds that wants to ride.
  enum Ride {
    /// The body is on its way; the share comes with the others.
    case receiving
    /// The body is held: the lease can be decoded.
    case holding(SharedTransfer.Share)
    /// There is no body of the name, nor will there be.
    case gone
  }

  /// What becomes of a lease that nobody waits for any more.
  enum Departure: Equatable {
    /// It has left; the transfer goes on for others.
    case left
    /// It has left, and was the last one: this transfer is to be aborted.
    case leftLast(LeaseID)
    /// The body is in: the lease goes on to its decode.
    case tooLate
  }

  private var transfers: [LeaseID: SharedTransfer] = [:]
  private var transferOfLease: [LeaseID: LeaseID] = [:]
  /// The newest last.
  private var transfersOfName: [PictureName: [LeaseID]] = [:]

  /// Puts a lease on a transfer of its own.
  ///
  /// - Parameter judgesRedirects: whether redirects are followed only where robots.txt allows that.
  mutating func begin(_ lease: LeaseID, name: PictureName, judgesRedirects: Bool = false) {
    transfers[lease] = SharedTransfer(
      name: name, begunBy: lease, judgesRedirects: judgesRedirects)
    transferOfLease[lease] = lease
    transfersOfName[name, default: []].append(lease)
  }

  /// Whether the transfer is not over.
  func has(_ id: LeaseID) -> Bool { transfers[id] != nil }

  /// Whether the transfer's redirects are followed only where robots.txt allows that.
  func judgesRedirects(_ id: LeaseID) -> Bool { transfers[id]?.judgesRedirects ?? false }

  /// Whether somebody may ride for the name.
  func hasTransfer(of name: PictureName) -> Bool { transfersOfName[name] != nil }

  /// Puts a lease on the newest transfer of the name.
  mutating func attach(_ lease: LeaseID, name: PictureName) -> Ride {
    guard let id = transfersOfName[name]?.last else { return .gone }
    transferOfLease[lease] = id
    return transfers[id]?.join(lease).map(Ride.holding) ?? .receiving
  }

  /// Takes a lease off its transfer, if the body is still on its way.
  mutating func leave(_ lease: LeaseID) -> Departure {
    guard let id = transferOfLease[lease], transfers[id]?.body == nil else { return .tooLate }
    transferOfLease[lease] = nil
    guard transfers[id]?.leave(lease) == true else { return .left }
    remove(id)
    return .leftLast(id)
  }

  /// The transfer's body is in. It is held until every share was told to ``release(_:)``.
  /// - Returns: a share for each lease of the transfer.
  mutating func receive(_ body: SharedTransfer.Body, by id: LeaseID) -> [SharedTransfer.Share] {
    transfers[id]?.receive(body) ?? []
  }

  /// One of the transfer's leases.
  func lease(of id: LeaseID) -> LeaseID? { transfers[id]?.leases.first }

  /// The transfer is over without a body.
  /// - Returns: its leases, which are on none any more.
  mutating func end(_ id: LeaseID) -> [LeaseID] {
    let leases = remove(id)?.leases ?? []
    for lease in leases { transferOfLease[lease] = nil }
    return leases
  }

  /// The lease's body, unless the store has it.
  func unkeptBody(of lease: LeaseID) -> SharedTransfer.Body? {
    transferOfLease[lease].flatMap { transfers[$0]?.unkeptBody }
  }

  /// What the lease was to keep is in the store, its body among it.
  mutating func noteKept(by lease: LeaseID) {
    if let id = transferOfLease[lease] { transfers[id]?.noteKept() }
  }

  /// The lease needs its body no more: its decode is over, whatever came of it, and the store has
  /// the original if this lease kept it.
  /// - Returns: what the body counted against the transfer pool's budgets, when this was the last
  ///   lease that used it and its memory is free; `nil` while others do.
  mutating func release(_ lease: LeaseID) -> BodyCharge? {
    guard let id = transferOfLease.removeValue(forKey: lease),
      transfers[id]?.leave(lease) == true
    else { return nil }
    return remove(id)?.body?.charge
  }

  /// From now on nobody joins the transfer; older ones of its name stay.
  @discardableResult
  private mutating func remove(_ id: LeaseID) -> SharedTransfer? {
    guard let transfer = transfers.removeValue(forKey: id) else { return nil }
    let others = transfersOfName[transfer.name]?.filter { $0 != id } ?? []
    transfersOfName[transfer.name] = others.isEmpty ? nil : others
    return transfer
  }
}
