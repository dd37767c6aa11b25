/// One transfer of a worker: a fetch, or the read of an original that stands for one. Never reused
/// while a coordinator lives.
package struct TransferID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// A transfer has the number of the lease that started it, so that the coordinator and the worker
  /// name it alike without a message about it.
  package init(startedBy lease: LeaseID) {
    rawValue = lease.rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
