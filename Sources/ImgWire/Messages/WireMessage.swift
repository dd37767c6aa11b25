import FoundationEssentials

/// Everything one side may say to another: a closed enum whose cases travel as one JSON object
/// each,
/// `{"type": "…", …}` with the payload's members beside the type.
///
/// To add a message: its payload struct, the case, its line in `Kind`, both switches, a golden
/// file.
package protocol WireMessage: Codable, Sendable {
  /// Who speaks, for error texts: "coordinator", "worker", "client".
  static var speaker: String { get }
  /// Whether a sealed memory file travels beside this message. One that announces a file and comes
  /// without, or the other way round, ends the connection.
  var announcesFile: Bool { get }
}

extension WireMessage {
  package var announcesFile: Bool { false }
}

/// The member that every message has.
enum TypeKey: String, CodingKey {
  case type
}

/// Why the bytes of a frame are no message. Ends the connection: both ends are of one build, so
/// this is a fault or a stranger, never a newer peer (those part at the hello).
package struct MessageError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

/// Turns messages into frames and back.
package enum WireCoding {
  /// The frame of `message`.
  ///
  /// - Throws: ``MessageError`` when the message does not fit one frame.
  package static func frame(_ message: some WireMessage) throws(MessageError) -> [UInt8] {
    let payload = try json(message)
    guard payload.count <= Frame.maximumByteCount else {
      throw MessageError(
        description: "a message of \(payload.count) bytes; \(Frame.maximumByteCount) fit a frame")
    }
    return Frame.encode(payload)
  }

  /// The message in the JSON of one frame.
  package static func message<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) throws(MessageError) -> Message {
    do {
      return try JSONDecoder().decode(type, from: Data(payload))
    } catch {
      throw MessageError(description: "not a message of a \(type.speaker): \(explain(error))")
    }
  }

  /// The JSON of `message`, members in alphabetical order so that equal messages are equal bytes.
  static func json(_ message: some WireMessage) throws(MessageError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return try encoder.encode(message)
    } catch {
      throw MessageError(description: "a message that is no JSON: \(explain(error))")
    }
  }

  private static func explain(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _):
      "\"\(key.stringValue)\" is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      context.codingPath.isEmpty
        ? context.debugDescription
        : "\"\(context.codingPath.map(\.stringValue).joined(separator: "."))\": "
          + context.debugDescription
    default:
      String(describing: error)
    }
  }
}
