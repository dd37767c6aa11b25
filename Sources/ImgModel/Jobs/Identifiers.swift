/// A job: one submitted list. Numbered by the coordinator from 1, never reused in a data directory.
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

/// One incarnation of a worker process. A respawned worker has a new one, so that nothing said by a
/// dead worker can be taken for its successor's word.
package struct WorkerID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// One assignment of one URL to one worker. Never reused while a coordinator lives: an answer that
/// names a lease nobody holds any more is late and is dropped.
package struct LeaseID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// A client's number for one of its requests; every reply to it carries the same number.
package struct RequestID: RawRepresentable, Hashable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}
