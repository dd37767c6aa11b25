/// The number of a decoder. Its worker chooses it and counts up, so no two decoders of a worker have
/// the same number.
package struct DecoderID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

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

/// The number that a client chooses for one of its requests. Each reply has the number of its request.
package struct RequestID: RawRepresentable, Hashable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}
