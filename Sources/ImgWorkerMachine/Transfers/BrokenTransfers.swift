import ImgModel

/// The transfers that failed and left a partial body. Their leases are told when the store has it,
/// so that the next attempt, in whichever worker, finds it.
struct BrokenTransfers {
  private var leases: [TransferID: [LeaseID]] = [:]

  /// The leases wait until the partial body is stored.
  mutating func wait(_ leases: [LeaseID], for transfer: TransferID) {
    let previous = self.leases.updateValue(leases, forKey: transfer)
    precondition(previous == nil, "a transfer breaks once")
  }

  /// The partial body is stored, or cannot be.
  ///
  /// - Precondition: leases wait for it.
  /// - Returns: the leases that waited.
  mutating func finish(_ transfer: TransferID) -> [LeaseID] {
    guard let waiting = leases.removeValue(forKey: transfer) else {
      preconditionFailure("no lease waits for the partial body of \(transfer.rawValue)")
    }
    return waiting
  }
}
