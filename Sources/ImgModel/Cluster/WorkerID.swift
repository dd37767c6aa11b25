/// The number of one worker process. A respawned worker gets a new number, so a late message of its
/// predecessor is never attributed to it.
package struct WorkerID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
