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
    return try coder.frame(message)
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

/// The payload of a message that is a list of numbers, in place of JSON: a byte 0, with which no JSON
/// begins, then 8 bytes for each number, little-endian.
///
/// For the two messages that accompany every picture to and from a decoder. Both ends run the same
/// build on the same machine, and JSON at both ends of both messages takes longer than the system
/// calls that carry them.
enum NumberRecord {
  private static let mark: UInt8 = 0
  private static let byteCountOfNumber = MemoryLayout<UInt64>.size

  static func encode(_ numbers: [UInt64]) -> [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(1 + numbers.count * byteCountOfNumber)
    payload.append(mark)
    for number in numbers {
      for shift in stride(from: 0, to: UInt64.bitWidth, by: UInt8.bitWidth) {
        payload.append(UInt8(truncatingIfNeeded: number >> shift))
      }
    }
    return payload
  }

  /// Whether a payload is a record.
  static func isRecord(_ payload: ArraySlice<UInt8>) -> Bool { payload.first == mark }

  /// - Returns: `nil` if the last number is not complete.
  static func decode(_ payload: ArraySlice<UInt8>) -> [UInt64]? {
    let bytes = payload.dropFirst()
    guard bytes.count % byteCountOfNumber == 0 else { return nil }
    return stride(from: bytes.startIndex, to: bytes.endIndex, by: byteCountOfNumber).map { start in
      bytes[start..<start + byteCountOfNumber].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }
}

extension Bool {
  /// The number of a Boolean in a record.
  var recordNumber: UInt64 { self ? 1 : 0 }

  /// - Returns: `nil` for a number other than 0 and 1.
  init?(recordNumber: UInt64) {
    guard recordNumber <= 1 else { return nil }
    self = recordNumber == 1
  }
}

extension CaseIterable where Self: Equatable {
  /// The number of a case in a record.
  var recordNumber: UInt64 {
    guard let index = Self.allCases.enumerated().first(where: { $0.element == self })?.offset else {
      preconditionFailure("a case is one of all cases")
    }
    return UInt64(index)
  }

  /// - Returns: `nil` if no case has the number.
  init?(recordNumber: UInt64) {
    guard let index = Int(exactly: recordNumber),
      let found = Self.allCases.enumerated().first(where: { $0.offset == index })?.element
    else { return nil }
    self = found
  }
}
