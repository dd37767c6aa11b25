/// A message of one direction: a closed enum. Each case is encoded as one JSON object,
/// `{"type": "…", …}`, with the members of its payload beside the type, or as a list of numbers.
///
/// To add a message, add its payload struct, the case, the case of `Kind`, a line in both switches,
/// and a golden file.
package protocol WireMessage: Codable, Sendable {
  /// The sender's role for error texts: "coordinator", "worker" or "client".
  static var sender: String { get }
  /// Whether an open file accompanies this message: a sealed memory file, or one end of a socket
  /// pair. The connection closes if an announced file is missing, or a file comes with a message that
  /// announces none.
  var announcesFile: Bool { get }
  /// The payload of a message that is sent as a ``NumberRecord``; `nil` of one that is JSON.
  var numbers: [UInt64]? { get }
  /// The message in a record; `nil` if these are the numbers of no message.
  init?(numbers: [UInt64])
}

extension WireMessage {
  package var announcesFile: Bool { false }
  package var numbers: [UInt64]? { nil }
  package init?(numbers: [UInt64]) { nil }
}

/// The coding key that every message has.
enum TypeKey: String, CodingKey {
  case type
}
