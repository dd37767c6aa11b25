import FoundationEssentials

/// The messages of one connection, as frames. It uses again what one message leaves for the next: its
/// buffer, and the options that messages in a row share.
///
/// Messages that are sent often have code of their own, see ``WireMessage/write(to:)``. It carries the
/// same JSON as their `Codable`, at some fiftieth of the cost. All others are left to `Codable`, as is
/// JSON that another program wrote, such as one with white space.
package struct WireCoder {
  private var writer = JSONWriter()
  private var reader = JSONReader()

  package init() {}

  /// The frame of a message. Members are in alphabetical order, so equal messages have equal bytes.
  ///
  /// - Throws: ``MessageError`` if the message does not fit into one frame.
  package mutating func frame(_ message: some WireMessage) throws(MessageError) -> [UInt8] {
    if let numbers = message.numbers { return Frame.encode(NumberRecord.encode(numbers)) }
    writer.start(leadingByteCount: Frame.headerByteCount)
    do {
      if try !message.write(to: &writer) { try writer.encoded(message) }
    } catch {
      throw MessageError(
        description: "the message cannot be encoded as JSON: \(Self.explain(error))")
    }
    let byteCount = writer.bytes.count - Frame.headerByteCount
    guard byteCount <= Frame.maximumByteCount else {
      throw MessageError(
        description: "a message of \(byteCount) bytes exceeds the frame limit of "
          + "\(Frame.maximumByteCount) bytes")
    }
    for (index, byte) in Frame.header(byteCount: byteCount).enumerated() {
      writer.set(byte, at: index)
    }
    return writer.finish()
  }

  /// The message in the payload of one frame.
  package mutating func message<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) throws(MessageError) -> Message {
    if NumberRecord.isRecord(payload) {
      guard let message = NumberRecord.decode(payload).flatMap({ Message(numbers: $0) }) else {
        throw MessageError(description: "not the numbers of a message of a \(type.sender)")
      }
      return message
    }
    if let message = canonicalMessage(type, from: payload) { return message }
    do {
      return try JSONDecoder().decode(type, from: Data(payload))
    } catch {
      throw MessageError(description: "not a message of a \(type.sender): \(Self.explain(error))")
    }
  }

  /// - Returns: `nil` for a message that is left to `Codable`, and for JSON that is not canonical.
  private mutating func canonicalMessage<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) -> Message? {
    reader.start(payload)
    // A slice that is kept would keep the whole memory of its connection.
    defer { reader.start([]) }
    do throws(JSONReader.NotCanonical) {
      let message = try type.read(&reader)
      try reader.finish()
      return message
    } catch {
      return nil
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
