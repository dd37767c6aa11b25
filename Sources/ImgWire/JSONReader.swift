import FoundationEssentials
import ImgModel

/// Reads JSON as ``JSONWriter`` writes it, from its bytes and without a tree, for the messages that
/// arrive often.
///
/// It accepts nothing else. JSON with white space, escapes, other or repeated members, or members in
/// another order is not canonical: the caller decodes it with `JSONDecoder`, which then decides what
/// is valid and names what is not. What the reader accepts, `JSONDecoder` decodes to the same value.
/// Each call reads one kind of value, so the types bound the depth.
package struct JSONReader {
  /// The JSON is not what ``JSONWriter`` writes for the value.
  package struct NotCanonical: Error {}

  private var bytes: ArraySlice<UInt8> = []
  /// Index of the next byte.
  private var position = 0
  /// Whether a comma precedes the next member.
  private var needsComma = false
  private var lastRequest = JSONMemo<ThumbnailRequest>()
  private var lastOptions = JSONMemo<RequestOptions>()
  private var lastRetention = JSONMemo<Retention>()

  /// Options need less.
  private static let rawDepthMaximum = 32

  /// Begins with other JSON.
  mutating func start(_ json: ArraySlice<UInt8>) {
    bytes = json
    position = json.startIndex
    needsComma = false
  }

  /// Nothing follows the value.
  mutating func finish() throws(NotCanonical) {
    guard position == bytes.endIndex else { throw NotCanonical() }
    bytes = []
  }

  // MARK: - Structure

  mutating func object<Value>(
    _ body: (inout JSONReader) throws(NotCanonical) -> Value
  ) throws(NotCanonical) -> Value {
    try expect(UInt8(ascii: "{"))
    needsComma = false
    let value = try body(&self)
    try expect(UInt8(ascii: "}"))
    needsComma = true
    return value
  }

  mutating func array<Element>(
    _ read: (inout JSONReader) throws(NotCanonical) -> Element
  ) throws(NotCanonical) -> [Element] {
    try expect(UInt8(ascii: "["))
    var elements: [Element] = []
    if !take(UInt8(ascii: "]")) {
      repeat { elements.append(try read(&self)) } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "]"))
    }
    needsComma = true
    return elements
  }

  /// Begins the member of this name, whose value is read next.
  mutating func member(_ name: String) throws(NotCanonical) {
    guard hasMember(name) else { throw NotCanonical() }
  }

  /// Begins the member of this name if it is the next; else stays where it is.
  mutating func hasMember(_ name: String) -> Bool {
    var next = position
    func takes(_ byte: UInt8) -> Bool {
      guard next < bytes.endIndex, bytes[next] == byte else { return false }
      next += 1
      return true
    }
    if needsComma, !takes(UInt8(ascii: ",")) { return false }
    guard takes(UInt8(ascii: "\"")) else { return false }
    for byte in name.utf8 where !takes(byte) { return false }
    guard takes(UInt8(ascii: "\"")), takes(UInt8(ascii: ":")) else { return false }
    position = next
    needsComma = false
    return true
  }

  private mutating func expect(_ byte: UInt8) throws(NotCanonical) {
    guard take(byte) else { throw NotCanonical() }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.endIndex, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  // MARK: - Values

  /// An integer that its type can hold.
  mutating func number<Value: FixedWidthInteger>(
    _: Value.Type = Value.self
  ) throws(NotCanonical) -> Value {
    let isNegative = take(UInt8(ascii: "-"))
    let start = position
    var value: Value = 0
    while position < bytes.endIndex, case let digit = bytes[position] &- UInt8(ascii: "0"),
      digit < 10
    {
      let (product, isProductOver) = value.multipliedReportingOverflow(by: 10)
      let (sum, isSumOver) =
        isNegative
        ? product.subtractingReportingOverflow(Value(digit))
        : product.addingReportingOverflow(Value(digit))
      guard !isProductOver, !isSumOver else { throw NotCanonical() }
      value = sum
      position += 1
    }
    // No number begins with a zero but 0, see RFC 8259 section 6.
    guard position > start, bytes[start] != UInt8(ascii: "0") || position == start + 1,
      !isNegative || value != 0
    else { throw NotCanonical() }
    needsComma = true
    return value
  }

  /// A member in whole milliseconds; `nil` if the next one has another name.
  mutating func milliseconds(_ name: String) throws(NotCanonical) -> Duration? {
    hasMember(name) ? .milliseconds(try number(Int64.self)) : nil
  }

  mutating func bool() throws(NotCanonical) -> Bool {
    let value = bytes[position...].first == UInt8(ascii: "t")
    for byte in (value ? "true" : "false").utf8 { try expect(byte) }
    needsComma = true
    return value
  }

  /// Text without escapes, in valid UTF-8.
  mutating func string() throws(NotCanonical) -> String {
    let text = String(validating: try rawString(), as: UTF8.self)
    guard let text else { throw NotCanonical() }
    needsComma = true
    return text
  }

  /// The case whose raw value is the next text.
  mutating func text<Value: RawRepresentable<String>>(
    _: Value.Type = Value.self
  ) throws(NotCanonical) -> Value {
    guard let value = Value(rawValue: try string()) else { throw NotCanonical() }
    return value
  }

  /// The next text is this one.
  mutating func literal(_ text: String) throws(NotCanonical) {
    guard try rawString().elementsEqual(text.utf8) else { throw NotCanonical() }
    needsComma = true
  }

  private mutating func rawString() throws(NotCanonical) -> ArraySlice<UInt8> {
    try expect(UInt8(ascii: "\""))
    let start = position
    while position < bytes.endIndex {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        return bytes[start..<position - 1]
      }
      guard byte >= 0x20, byte != UInt8(ascii: "\\") else { throw NotCanonical() }
      position += 1
    }
    throw NotCanonical()
  }

  // MARK: - Values of other kinds

  /// Any object, which takes some fifty times as long as the same in calls of the reader.
  mutating func decoded<Value: Decodable>(
    _: Value.Type = Value.self
  ) throws(NotCanonical) -> Value {
    try Self.decode(try raw())
  }

  mutating func request() throws(NotCanonical) -> ThumbnailRequest {
    let json = try raw()
    return try lastRequest.value(of: json, decode: Self.decode)
  }

  mutating func options() throws(NotCanonical) -> RequestOptions {
    let json = try raw()
    return try lastOptions.value(of: json, decode: Self.decode)
  }

  mutating func retention() throws(NotCanonical) -> Retention {
    let start = position
    if let retention = try? plainRetention() { return retention }
    position = start
    let json = try raw()
    return try lastRetention.value(of: json, decode: Self.decode)
  }

  private mutating func plainRetention() throws(NotCanonical) -> Retention {
    try object { json throws(NotCanonical) in
      guard let after = try json.milliseconds("expire_after_ms"),
        let sliding = try json.milliseconds("expire_on_access_ms")
      else { throw NotCanonical() }
      return Retention(after: after, sliding: sliding)
    }
  }

  /// The caller decodes the whole message again for the reason of an error.
  private static func decode<Value: Decodable>(
    _ json: ArraySlice<UInt8>
  ) throws(NotCanonical) -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: Data(json))
    } catch {
      throw NotCanonical()
    }
  }

  /// The bytes of the next object, as far as its brackets and texts show its end.
  private mutating func raw() throws(NotCanonical) -> ArraySlice<UInt8> {
    let start = position
    try expect(UInt8(ascii: "{"))
    var depth = 1
    while depth > 0 {
      guard position < bytes.endIndex, depth <= Self.rawDepthMaximum else { throw NotCanonical() }
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "\""): try skipText()
      default: break
      }
    }
    needsComma = true
    return bytes[start..<position]
  }

  /// Skips the rest of a text, in which a backslash precedes a quotation mark that does not end it.
  private mutating func skipText() throws(NotCanonical) {
    while position < bytes.endIndex, bytes[position] != UInt8(ascii: "\"") {
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    try expect(UInt8(ascii: "\""))
  }
}

/// The last value of one type and its JSON. Messages in a row mostly have equal options, so that each
/// side codes them once.
struct JSONMemo<Value: Equatable> {
  private var last: (value: Value, bytes: [UInt8])?

  /// Longer JSON is not kept: each connection has memos, and a peer decides on the length.
  private static var keptByteCount: Int { 4 << 10 }

  /// The JSON of a value.
  mutating func bytes(
    of value: Value, encode: (Value) throws -> [UInt8]
  ) rethrows -> [UInt8] {
    if let last, last.value == value { return last.bytes }
    let bytes = try encode(value)
    if bytes.count <= Self.keptByteCount { last = (value, bytes) }
    return bytes
  }

  /// The value of JSON.
  mutating func value(
    of json: ArraySlice<UInt8>,
    decode: (ArraySlice<UInt8>) throws(JSONReader.NotCanonical) -> Value
  ) throws(JSONReader.NotCanonical) -> Value {
    if let last, last.bytes.elementsEqual(json) { return last.value }
    let value = try decode(json)
    if json.count <= Self.keptByteCount { last = (value, Array(json)) }
    return value
  }
}
