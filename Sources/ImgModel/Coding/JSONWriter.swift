/// Writes JSON into a byte buffer that its owner uses again: no white space, escapes only where RFC 8259
/// section 7 requires them, and the members of each object in the order of the list that describes them, so
/// that equal values have equal bytes.
struct JSONWriter {
  /// What is written is in front of `end`.
  private var buffer: [UInt8] = []
  private var end = 0
  private var needsComma = false

  /// A larger buffer is not kept for the next JSON.
  private static let keptByteCount = 32 << 10
  private static let firstByteCount = 512
  /// Digits of the largest 64-bit number.
  private static let maximumDigitCount = 20

  /// What was written since ``start(leadingByteCount:)``. A large buffer is not kept: the connection may send
  /// nothing more.
  mutating func finish() -> ArraySlice<UInt8> {
    let bytes = buffer[..<end]
    if buffer.count > Self.keptByteCount { (buffer, end) = ([], 0) }
    return bytes
  }

  var byteCount: Int { end }

  /// Where it is.
  var mark: Int? { end }

  /// The bytes since an earlier place.
  func json(since mark: Int) -> [UInt8] { Array(buffer[mark..<end]) }

  /// The memory that stays for the next JSON.
  var heldByteCount: Int { buffer.capacity }

  /// Begins with other JSON.
  ///
  /// - Parameter leadingByteCount: bytes that stay free for a header.
  mutating func start(leadingByteCount: Int = 0) {
    end = 0
    needsComma = false
    reserve(leadingByteCount)
    end = leadingByteCount
  }

  /// Replaces the byte at an index, for a header that is known at the end.
  mutating func set(_ byte: UInt8, at index: Int) { buffer[index] = byte }

  // MARK: - Structure

  mutating func beginObject() {
    put(UInt8(ascii: "{"))
    needsComma = false
  }

  /// Begins the object of a message, whose first member is its type.
  mutating func beginMessage(_ type: StaticString) {
    beginObject()
    member("type")
    string("\(type)")
  }

  mutating func endObject() {
    put(UInt8(ascii: "}"))
    needsComma = true
  }

  mutating func beginArray() {
    put(UInt8(ascii: "["))
    needsComma = false
  }

  mutating func endArray() {
    put(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Writes a comma unless the next element is the first.
  mutating func separate() {
    if needsComma { put(UInt8(ascii: ",")) }
    needsComma = true
  }

  /// Begins a member, whose value is written next.
  ///
  /// - Parameter name: needs no escapes.
  mutating func member(_ name: StaticString) {
    let count = name.utf8CodeUnitCount
    reserve(count + 4)
    let start = end + (needsComma ? 1 : 0)
    unsafe buffer.withUnsafeMutableBufferPointer { buffer in
      if needsComma { unsafe buffer[end] = UInt8(ascii: ",") }
      unsafe buffer[start] = UInt8(ascii: "\"")
      for index in 0..<count { unsafe buffer[start + 1 + index] = name.utf8Start[index] }
      unsafe buffer[start + count + 1] = UInt8(ascii: "\"")
      unsafe buffer[start + count + 2] = UInt8(ascii: ":")
    }
    end = start + count + 3
    needsComma = true
  }

  // MARK: - Values

  mutating func number<Value: FixedWidthInteger>(_ value: Value) {
    reserve(Self.maximumDigitCount + 1)
    if value < 0 { append(UInt8(ascii: "-")) }
    var rest = UInt64(value.magnitude)
    let start = end
    repeat {
      append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    // The last digit was written first.
    var (first, last) = (start, end - 1)
    while first < last {
      buffer.swapAt(first, last)
      (first, last) = (first + 1, last - 1)
    }
  }

  mutating func real(_ value: Double) {
    let text = value.description
    put(Array((text.hasSuffix(".0") ? text.dropLast(2) : text[...]).utf8))
  }

  mutating func bool(_ value: Bool) { put(Array((value ? "true" : "false").utf8)) }

  mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { text in
      reserve(text.count + 2)
      append(UInt8(ascii: "\""))
      if unsafe text.contains(where: Self.isEscaped) {
        for index in text.indices { put(escaping: unsafe text[index]) }
      } else {
        unsafe append(text)
      }
      put(UInt8(ascii: "\""))
    }
  }

  /// JSON that was written before.
  mutating func put(_ json: [UInt8]) {
    reserve(json.count)
    unsafe json.withUnsafeBufferPointer { unsafe append($0) }
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func put(escaping byte: UInt8) {
    guard Self.isEscaped(byte) else { return put(byte) }
    put(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: put(UInt8(ascii: "b"))
    case 0x09: put(UInt8(ascii: "t"))
    case 0x0A: put(UInt8(ascii: "n"))
    case 0x0C: put(UInt8(ascii: "f"))
    case 0x0D: put(UInt8(ascii: "r"))
    case 0..<0x20:
      let digits = String(byte, radix: 16)
      put(Array("u00\(digits.utf8.count == 1 ? "0" : "")\(digits)".utf8))
    default: put(byte)
    }
  }

  // MARK: - Bytes

  private mutating func put(_ byte: UInt8) {
    reserve(1)
    append(byte)
  }

  /// Appends where ``reserve(_:)`` has made room.
  private mutating func append(_ byte: UInt8) {
    buffer[end] = byte
    end += 1
  }

  private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    let start = end
    unsafe buffer.withUnsafeMutableBytes { buffer in
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
        .copyMemory(from: UnsafeRawBufferPointer(bytes))
    }
    end += bytes.count
  }

  private mutating func reserve(_ byteCount: Int) {
    guard end + byteCount > buffer.count else { return }
    let missing = max(byteCount, buffer.count, Self.firstByteCount)
    buffer.append(contentsOf: repeatElement(0, count: missing))
  }
}
