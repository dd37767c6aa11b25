@_spi(Coding) package import ImgModel

/// The messages of one connection, as frames. It uses again what one message leaves for the next: its
/// buffer, and the options that messages in a row share.
package struct WireCoder {
  private var fields = Fields(remembering: JSONMemory())

  package init() {}

  /// The frame of a message, until the next one. Equal messages have equal bytes.
  ///
  /// - Throws: ``MessageError`` if the message does not fit into one frame, or its receiver would not take
  ///   its values.
  package mutating func frame(
    _ message: some WireMessage
  ) throws(MessageError) -> ArraySlice<UInt8> {
    let byteCount: Int
    do throws(FieldError) {
      byteCount =
        try fields.write(leadingByteCount: Frame.headerByteCount) { fields throws(FieldError) in
          try message.write(to: &fields)
          try fields.endObject()
        } - Frame.headerByteCount
    } catch {
      throw MessageError(description: "the message cannot be written: \(error.description)")
    }
    guard byteCount <= Frame.maximumByteCount else {
      throw MessageError(
        description: "a message of \(byteCount) bytes exceeds the frame limit of "
          + "\(Frame.maximumByteCount) bytes")
    }
    return fields.written(behind: UInt32(byteCount))
  }

  /// The message in the payload of one frame.
  package mutating func message<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) throws(MessageError) -> Message {
    do throws(FieldError) {
      return try fields.read(payload) { fields throws(FieldError) in
        let type = try fields.messageType()
        guard let message = try Message.read(type, from: &fields) else {
          throw fields.invalid("type", "no message has the type \(type)")
        }
        try fields.endObject()
        return message
      }
    } catch {
      throw MessageError(
        description: "not a message of a \(type.sender): \(error.description)")
    }
  }
}

/// The reason why a payload is not a message. The connection closes. Both ends run the same build, so
/// the cause is a bug or a foreign client; a peer of another version is refused at the hello.
package struct MessageError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

/// Encodes messages as frames and decodes payloads, each by itself. A connection has a ``WireCoder``.
package enum WireCoding {
  /// The frame of a message.
  ///
  /// - Throws: ``MessageError`` if the message does not fit into one frame.
  package static func frame(_ message: some WireMessage) throws(MessageError) -> [UInt8] {
    var coder = WireCoder()
    return Array(try coder.frame(message))
  }

  /// The message in the payload of one frame.
  package static func message<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) throws(MessageError) -> Message {
    var coder = WireCoder()
    return try coder.message(type, from: payload)
  }
}

/// A message of one direction: a closed enum. Each case is encoded as one JSON object,
/// `{"type": "…", …}`. The number of its request, if it has one, and the members of its payload are beside
/// the type.
///
/// To add a message, add its payload struct, unless that would have one member, the case, its line in
/// ``write(to:)`` and ``read(_:from:)``, and a golden file.
package protocol WireMessage: Sendable {
  /// The sender's role for error texts: "coordinator", "worker" or "client".
  static var sender: String { get }
  /// Whether an open file accompanies this message: a sealed memory file, or one end of a socket
  /// pair. The connection closes if an announced file is missing, or a file comes with a message that
  /// announces none.
  var announcesFile: Bool { get }
  /// Writes the message up to its end.
  func write(to f: inout Fields) throws(FieldError)
  /// Reads what is behind the type of a message, up to its end.
  ///
  /// - Returns: `nil` if no message has the type.
  static func read(_ type: String, from f: inout Fields) throws(FieldError) -> Self?
}

extension WireMessage {
  package var announcesFile: Bool { false }
}

/// The parts of messages.
extension Fields {
  /// A message without anything beside its type.
  mutating func message(_ type: StaticString) { beginMessage(type) }

  /// A message with the members of its payload.
  mutating func message<Payload: Fielded>(
    _ type: StaticString, _ payload: Payload
  ) throws(FieldError) {
    beginMessage(type)
    _ = try Payload(&self, payload)
  }

  /// A message with one member.
  mutating func message<Value: FieldValue>(
    _ type: StaticString, _ name: StaticString, _ value: Value
  ) throws(FieldError) {
    beginMessage(type)
    try field(name, value)
  }

  /// A message of one request.
  mutating func message(_ type: StaticString, _ id: RequestID) throws(FieldError) {
    try message(type, "id", id)
  }

  /// A message of one request, with the members of its payload.
  mutating func message<Payload: Fielded>(
    _ type: StaticString, _ id: RequestID, _ payload: Payload
  ) throws(FieldError) {
    try message(type, id)
    _ = try Payload(&self, payload)
  }

  /// A message of one request with one more member.
  mutating func message<Value: FieldValue>(
    _ type: StaticString, _ id: RequestID, _ name: StaticString, _ value: Value
  ) throws(FieldError) {
    try message(type, id)
    try field(name, value)
  }

  /// The number of the request of a message that is read.
  mutating func id() throws(FieldError) -> RequestID { try member("id") }

  /// A member of a message that is read.
  mutating func member<Value: FieldValue>(_ name: StaticString) throws(FieldError) -> Value {
    try field(name, nil)
  }

  /// The payload of a message that is read.
  mutating func payload<Payload: Fielded>() throws(FieldError) -> Payload {
    try Payload(&self, nil)
  }
}
