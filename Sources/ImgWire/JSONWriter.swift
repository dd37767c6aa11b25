import FoundationEssentials
import ImgModel

/// Writes JSON into a byte buffer that its owner uses again, for the messages that are sent often.
///
/// Writes what `JSONEncoder` writes with sorted keys and without escaped slashes, if the caller names
/// members in the order of their bytes: no white space, and escapes only where RFC 8259 section 7
/// requires them. Values of all other kinds go through `JSONEncoder`, see ``encoded(_:)``.
package struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  /// Whether a comma precedes the next member or element.
  private var needsComma = false
  private var lastRequest = JSONMemo<ThumbnailRequest>()
  private var lastOptions = JSONMemo<RequestOptions>()
  private var lastRetention = JSONMemo<Retention>()

  /// A larger buffer is not kept for the next message.
  private static let keptByteCount = 32 << 10

  /// Empties the buffer.
  ///
  /// - Parameter leadingByteCount: zeros that stay free for a header.
  mutating func start(leadingByteCount: Int) {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: repeatElement(0, count: leadingByteCount))
    needsComma = false
  }

  /// Hands out what was written. A connection that sends nothing more does not keep a large buffer.
  mutating func finish() -> [UInt8] {
    let finished = bytes
    if finished.capacity > Self.keptByteCount { bytes = [] }
    return finished
  }

  /// Replaces the byte at an index, for a header that is known at the end.
  mutating func set(_ byte: UInt8, at index: Int) { bytes[index] = byte }

  // MARK: - Structure

  /// - Parameter body: writes the members in the order of their names' bytes.
  mutating func object<Reason: Error>(
    _ body: (inout JSONWriter) throws(Reason) -> Void
  ) throws(Reason) {
    separate()
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
    try body(&self)
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  mutating func array<Element, Reason: Error>(
    _ elements: [Element], _ write: (inout JSONWriter, Element) throws(Reason) -> Void
  ) throws(Reason) {
    separate()
    bytes.append(UInt8(ascii: "["))
    needsComma = false
    for element in elements { try write(&self, element) }
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Begins a member, whose value is written next.
  ///
  /// - Parameter name: needs no escapes.
  mutating func member(_ name: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: name.utf8)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  // MARK: - Values

  mutating func number(_ value: some BinaryInteger) {
    separate()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    var rest = UInt64(value.magnitude)
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    // The last digit was written first.
    bytes[start...].reverse()
  }

  /// Writes a member in whole milliseconds; none for `nil`.
  mutating func milliseconds(_ name: String, _ value: Duration?) {
    guard let value else { return }
    member(name)
    number(value.milliseconds)
  }

  mutating func bool(_ value: Bool) {
    separate()
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  mutating func string(_ value: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    if value.utf8.contains(where: Self.isEscaped) {
      for byte in value.utf8 { append(escaping: byte) }
    } else {
      bytes.append(contentsOf: value.utf8)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func append(escaping byte: UInt8) {
    guard Self.isEscaped(byte) else { return bytes.append(byte) }
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: bytes.append(UInt8(ascii: "b"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0C: bytes.append(UInt8(ascii: "f"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0..<0x20:
      let digits = String(byte, radix: 16)
      bytes.append(contentsOf: "u00".utf8)
      if digits.utf8.count == 1 { bytes.append(UInt8(ascii: "0")) }
      bytes.append(contentsOf: digits.utf8)
    default: bytes.append(byte)
    }
  }

  // MARK: - Values of other kinds

  /// Any value, which takes some fifty times as long as the same in calls of the writer.
  mutating func encoded(_ value: some Encodable) throws {
    try append(Self.encode(value))
  }

  mutating func request(_ request: ThumbnailRequest) throws {
    try append(lastRequest.bytes(of: request, encode: Self.encode))
  }

  mutating func options(_ value: RequestOptions) throws {
    try append(lastOptions.bytes(of: value, encode: Self.encode))
  }

  /// A retention that names a date or jobs is one of many equal ones; others change from batch to batch.
  mutating func retention(_ retention: Retention) throws {
    guard retention.until == nil, retention.pins.isEmpty else {
      return try append(lastRetention.bytes(of: retention, encode: Self.encode))
    }
    object { json in
      json.milliseconds("expire_after_ms", retention.after)
      json.milliseconds("expire_on_access_ms", retention.sliding)
    }
  }

  private mutating func append(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
  }

  static func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
