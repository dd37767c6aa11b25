import FoundationEssentials

/// The reason why a payload is not a message. The connection closes. Both ends run the same build, so
/// the cause is a bug or a foreign client; a peer of another version is refused at the hello.
package struct MessageError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

/// Encodes messages as frames and decodes payloads.
package enum WireCoding {
  /// The frame of a message.
  ///
  /// - Throws: ``MessageError`` if the message does not fit into one frame.
  package static func frame(_ message: some WireMessage) throws(MessageError) -> [UInt8] {
    if let numbers = message.numbers { return Frame.encode(NumberRecord.encode(numbers)) }
    let payload = try json(message)
    guard payload.count <= Frame.maximumByteCount else {
      throw MessageError(
        description: "a message of \(payload.count) bytes exceeds the frame limit of "
          + "\(Frame.maximumByteCount) bytes")
    }
    return Frame.encode(payload)
  }

  /// The message in the payload of one frame.
  package static func message<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) throws(MessageError) -> Message {
    if NumberRecord.isRecord(payload) {
      guard let message = NumberRecord.decode(payload).flatMap({ Message(numbers: $0) }) else {
        throw MessageError(description: "not the numbers of a message of a \(type.sender)")
      }
      return message
    }
    do {
      return try JSONDecoder().decode(type, from: Data(payload))
    } catch {
      throw MessageError(description: "not a message of a \(type.sender): \(explain(error))")
    }
  }

  /// The JSON of a message. Members are in alphabetical order, so equal messages have equal bytes.
  private static func json(_ message: some WireMessage) throws(MessageError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return try encoder.encode(message)
    } catch {
      throw MessageError(description: "the message cannot be encoded as JSON: \(explain(error))")
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
