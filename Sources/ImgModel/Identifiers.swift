/// The number of one of many things of a kind. What names the things counts up and uses no number twice. The
/// numbers of different kinds are different types; in JSON each is the bare number.
///
/// It is public and inlinable, because the tables of other modules hash and compare it for each of their requests,
/// and Swift 6.3.1 inlines nothing that has package access.
@frozen
public struct Identifier<Kind>: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  /// The number. A later thing of the kind has a higher one.
  public let rawValue: UInt64

  /// The thing of this number.
  @inlinable
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Whether the left one was named before the right one.
  @inlinable
  public static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// What an ``Identifier`` is the number of. A module adds the kinds of things that it alone knows.
public enum IdentifierKind {
  /// See `JobID`.
  public enum Job {}
  package enum Lease {}
  package enum Transfer {}
  package enum Worker {}
  package enum Decoder {}
  package enum Request {}
}

/// The number of a job. The coordinator numbers the jobs of a data directory from 1 and never reuses
/// a number.
package typealias JobID = Identifier<IdentifierKind.Job>

/// The number of one lease: the assignment of one URL to one worker. Never reused during a
/// coordinator's lifetime. The scheduler drops a result whose lease has ended.
package typealias LeaseID = Identifier<IdentifierKind.Lease>

/// The number of one transfer of a worker. Never reused during a coordinator's lifetime.
package typealias TransferID = Identifier<IdentifierKind.Transfer>

/// The number of one worker process. A respawned worker gets a new number, so a late message of its
/// predecessor is never attributed to it.
package typealias WorkerID = Identifier<IdentifierKind.Worker>

/// The number of a decoder. Its worker chooses it and counts up, so no two decoders of a worker have
/// the same number.
package typealias DecoderID = Identifier<IdentifierKind.Decoder>

/// The number that a client chooses for one of its requests. Each reply has the number of its request.
package typealias RequestID = Identifier<IdentifierKind.Request>

extension TransferID {
  /// A transfer has the number of the lease that started it, so the coordinator and the worker
  /// agree on it without a message.
  package init(startedBy lease: LeaseID) {
    self.init(rawValue: lease.rawValue)
  }
}

/// People write and read the bare number.
extension Identifier: CustomStringConvertible, LosslessStringConvertible
where Kind == IdentifierKind.Job {
  /// The job of a number above 0; `nil` for any other text.
  public init?(_ description: String) {
    guard let rawValue = UInt64(description), rawValue > 0 else { return nil }
    self.init(rawValue: rawValue)
  }

  /// The number, in decimal.
  public var description: String { String(rawValue) }
}
