/// The number of one transfer of a worker. Never reused during a coordinator's lifetime.
package struct TransferID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// A transfer has the number of the lease that started it, so the coordinator and the worker
  /// agree on it without a message.
  package init(startedBy lease: LeaseID) {
    rawValue = lease.rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
