/// The number of one lease: the assignment of one URL to one worker. Never reused during a
/// coordinator's lifetime. The scheduler drops a result whose lease has ended.
package struct LeaseID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
