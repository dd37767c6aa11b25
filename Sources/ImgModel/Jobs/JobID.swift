/// The number of a job. The coordinator numbers the jobs of a data directory from 1 and never reuses
/// a number.
package struct JobID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

extension JobID: LosslessStringConvertible {
  package init?(_ description: String) {
    guard let rawValue = UInt64(description), rawValue > 0 else { return nil }
    self.rawValue = rawValue
  }

  package var description: String { String(rawValue) }
}
