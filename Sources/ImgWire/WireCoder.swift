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

  /// A message with two members.
  mutating func message<First: FieldValue, Second: FieldValue>(
    _ type: StaticString, _ firstName: StaticString, _ first: First, _ secondName: StaticString,
    _ second: Second
  ) throws(FieldError) {
    try message(type, firstName, first)
    try field(secondName, second)
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
    try message(type, "id", id, name, value)
  }

  /// A message of one request with two more members.
  mutating func message<First: FieldValue, Second: FieldValue>(
    _ type: StaticString, _ id: RequestID, _ firstName: StaticString, _ first: First,
    _ secondName: StaticString, _ second: Second
  ) throws(FieldError) {
    try message(type, "id", id, firstName, first)
    try field(secondName, second)
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

/// A frame: a 4-byte big-endian length and a payload of that many bytes: UTF-8 JSON.
package enum Frame {
  /// The maximum size of a payload. Long lists of URLs need several frames.
  package static let maximumByteCount = 1 << 20

  package static let headerByteCount = 4
}

/// The reason why a byte stream is not a stream of frames. The connection closes, because the start of
/// the next frame is unknown.
package enum FrameError: Error, Equatable, CustomStringConvertible {
  case empty
  case tooLong(byteCount: Int)

  package var description: String {
    switch self {
    case .empty:
      "a frame of length 0"
    case .tooLong(let byteCount):
      "a frame of \(byteCount) bytes exceeds the limit of \(Frame.maximumByteCount) bytes"
    }
  }
}

/// Splits a byte stream, which arrives in pieces of any size, into frames.
///
/// It holds at most one incomplete frame and the bytes appended last. After an error, every call
/// throws that error.
package struct FrameDecoder: Sendable {
  private var buffer: [UInt8] = []
  /// The start of the next frame in `buffer`. The bytes before it are consumed.
  private var start = 0
  private var failure: FrameError?

  package init() {}

  /// The memory in use for buffered bytes. The little that is kept for the next ones does not count.
  package var heldByteCount: Int {
    start == buffer.count && buffer.capacity <= Self.keptByteCount ? 0 : buffer.capacity
  }

  /// Whether ``next()`` returns a frame or throws without more bytes.
  package var hasNext: Bool {
    do throws(FrameError) {
      return try nextPayload() != nil
    } catch {
      return true
    }
  }

  /// Whether the buffer ends with an incomplete frame.
  package var isWithinFrame: Bool { start < buffer.count && !hasNext }

  /// Appends the next bytes of the stream.
  package mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      // Bytes that are left over are few: less than a frame, or frames that the caller leaves.
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// The payload of the next complete frame; `nil` if it needs more bytes.
  ///
  /// - Throws: ``FrameError`` as soon as an invalid header arrives, before its payload.
  package mutating func next() throws(FrameError) -> ArraySlice<UInt8>? {
    do throws(FrameError) {
      guard let range = try nextPayload() else { return nil }
      let payload = buffer[range]
      start = range.upperBound
      releaseConsumed()
      return payload
    } catch {
      failure = error
      buffer = []
      start = 0
      throw error
    }
  }

  /// The range of the next payload in `buffer`, if the frame is complete.
  private func nextPayload() throws(FrameError) -> Range<Int>? {
    if let failure { throw failure }
    guard buffer.count - start >= Frame.headerByteCount else { return nil }
    let count =
      Int(buffer[start]) << 24 | Int(buffer[start + 1]) << 16 | Int(buffer[start + 2]) << 8
      | Int(buffer[start + 3])
    guard count > 0 else { throw .empty }
    guard count <= Frame.maximumByteCount else { throw .tooLong(byteCount: count) }
    let payloadStart = start + Frame.headerByteCount
    guard buffer.count - payloadStart >= count else { return nil }
    return payloadStart..<(payloadStart + count)
  }

  /// Releases the memory of consumed frames, unless it is little: the next frames can use that. At
  /// most the start of one frame is left then.
  private mutating func releaseConsumed() {
    guard buffer.capacity > Self.keptByteCount, !hasNext else { return }
    buffer = Array(buffer[start...])
    start = 0
  }

  private static let keptByteCount = 16 << 10
}
