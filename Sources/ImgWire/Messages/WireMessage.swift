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
  /// Writes the JSON of a message that is sent often, as `Codable` does.
  ///
  /// - Returns: `false` if the message is left to `Codable`; nothing is written then.
  func write(to json: inout JSONWriter) throws -> Bool
  /// Reads the JSON of such a message.
  ///
  /// - Throws: `NotCanonical` if the message, or JSON in another form, is left to `Codable`.
  static func read(_ json: inout JSONReader) throws(JSONReader.NotCanonical) -> Self
}

extension WireMessage {
  package var announcesFile: Bool { false }
  package var numbers: [UInt64]? { nil }
  package init?(numbers: [UInt64]) { nil }
  package func write(to json: inout JSONWriter) throws -> Bool { false }
  package static func read(_ json: inout JSONReader) throws(JSONReader.NotCanonical) -> Self {
    throw JSONReader.NotCanonical()
  }
}

/// The coding key that every message has.
enum TypeKey: String, CodingKey {
  case type
}
