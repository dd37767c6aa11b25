/// Reads JSON from its bytes, without a tree.
///
/// It reads twice at most. The first time it takes only what ``JSONWriter`` writes: no white space, the
/// members in the order of the list that describes them, and no others. That is what the programs
/// send each other. The second time it takes any JSON (RFC 8259): it finds the members of each object
/// first, the first of those with one name, and ignores those that are not asked for. That reading
/// tells what is not valid. The types bound the depth of what is read, and a constant that of the rest.
@safe
struct JSONReader {
  /// Valid between ``start(_:isLenient:)`` and ``end()``.
  private var bytes = unsafe UnsafeBufferPointer<UInt8>(start: nil, count: 0)
  /// Index of the next byte.
  private var position = 0
  private var count = 0
  /// Whether a comma precedes the next member.
  private var needsComma = false
  /// Whether it takes any JSON.
  private var isLenient = false
  /// Of lenient reading, the members of the open objects.
  private var objects: [OpenObject] = []
  /// Of lenient reading, the names of the open members.
  private(set) var path: [String] = []
  /// Of lenient reading, where their values end.
  private var valueEnds: [Int] = []

  private struct OpenObject {
    var members: [(name: String, value: Range<Int>)] = []
    var end = 0
  }

  private static let maximumSkippedDepth = 32

  /// Begins with JSON, whose memory is valid until ``end()``.
  mutating func start(_ json: UnsafeBufferPointer<UInt8>, isLenient: Bool) {
    unsafe bytes = json
    count = json.count
    position = 0
    needsComma = false
    self.isLenient = isLenient
    if isLenient { (objects, path, valueEnds) = ([], [], []) }
    skipWhiteSpace()
  }

  mutating func end() {
    unsafe bytes = UnsafeBufferPointer(start: nil, count: 0)
    count = 0
  }

  /// Nothing follows the value.
  mutating func finish() throws(FieldError) {
    skipWhiteSpace()
    guard position == count else { throw failure("more than one value") }
  }

  /// The next byte; 0, which JSON does not have, at the end.
  private var next: UInt8 { byte(at: position) }

  private func byte(at index: Int) -> UInt8 { index < count ? unsafe bytes[index] : 0 }

  private func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(rebasing: bytes[range])
  }

  /// What the reading ends with. The first reading gives no reason: its caller reads again.
  private func failure(_ reason: @autoclosure () -> String) -> FieldError {
    isLenient ? FieldError(path: path, reason: reason()) : .notCanonical
  }

  // MARK: - Objects

  mutating func beginObject() throws(FieldError) {
    let start = position
    try expect(UInt8(ascii: "{"), "not an object")
    needsComma = false
    guard isLenient else { return }
    position = start
    objects.append(try members())
  }

  mutating func endObject() throws(FieldError) {
    if isLenient {
      position = objects.removeLast().end
    } else {
      try expect(UInt8(ascii: "}"), "not the end of an object")
    }
    needsComma = true
  }

  /// The members of the object at the position, which is behind it then.
  private mutating func members() throws(FieldError) -> OpenObject {
    var object = OpenObject()
    try expect(UInt8(ascii: "{"), "not an object")
    skipWhiteSpace()
    if take(UInt8(ascii: "}")) {
      object.end = position
      return object
    }
    repeat {
      skipWhiteSpace()
      let name = try self.name()
      let start = position
      try skipValue()
      object.members.append((name, start..<position))
      skipWhiteSpace()
    } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: "}"), "not the end of an object")
    object.end = position
    return object
  }

  /// Begins the member of this name, whose value is read next, before ``endMember()``. `null` is no value.
  mutating func beginMember(_ name: StaticString) -> Bool {
    if isLenient { return findMember("\(name)") }
    guard isNext(name) else { return false }
    position += name.utf8CodeUnitCount + (needsComma ? 4 : 3)
    needsComma = true
    return true
  }

  /// Ends the member, whose value was read to its end.
  mutating func endMember() throws(FieldError) {
    guard isLenient else { return }
    guard position == valueEnds.popLast() else { throw failure("a value of another kind") }
    path.removeLast()
  }

  private mutating func findMember(_ name: String) -> Bool {
    guard let member = objects.last?.members.first(where: { $0.name == name }),
      byte(at: member.value.lowerBound) != UInt8(ascii: "n")
    else { return false }
    position = member.value.lowerBound
    valueEnds.append(member.value.upperBound)
    path.append(name)
    return true
  }

  /// Whether the next bytes are those of a member's name.
  private func isNext(_ name: StaticString) -> Bool {
    let start = position + (needsComma ? 2 : 1)
    let end = start + name.utf8CodeUnitCount
    guard end + 1 < count else { return false }
    return unsafe (!needsComma || bytes[position] == UInt8(ascii: ","))
      && bytes[start - 1] == UInt8(ascii: "\"") && bytes[end + 1] == UInt8(ascii: ":")
      && bytes[end] == UInt8(ascii: "\"") && isName(name, at: start)
  }

  /// Whether the bytes at an index, which are there, are a name.
  private func isName(_ name: StaticString, at start: Int) -> Bool {
    for index in 0..<name.utf8CodeUnitCount
    where unsafe bytes[start + index] != name.utf8Start[index] {
      return false
    }
    return true
  }

  /// Begins a message, whose type is read before its other members.
  mutating func messageType() throws(FieldError) -> String {
    try beginObject()
    guard beginMember("type") else { throw FieldError(path: ["type"], reason: nil) }
    let type = try string()
    try endMember()
    return type
  }

  // MARK: - Lists

  mutating func beginArray() throws(FieldError) {
    try expect(UInt8(ascii: "["), "not a list")
  }

  /// Whether one more element follows, which is read next; else the list is over.
  mutating func hasElement(after count: Int) throws(FieldError) -> Bool {
    skipWhiteSpace()
    if count == 0, take(UInt8(ascii: "]")) { return false }
    if count > 0, !take(UInt8(ascii: ",")) {
      try expect(UInt8(ascii: "]"), "not the end of a list")
      return false
    }
    skipWhiteSpace()
    return true
  }

  // MARK: - Values

  /// An integer that its type can hold.
  mutating func number<Value: FixedWidthInteger>(
    _: Value.Type = Value.self
  ) throws(FieldError) -> Value {
    let isNegative = take(UInt8(ascii: "-"))
    let start = position
    var magnitude: UInt64 = 0
    while case let digit = next &- UInt8(ascii: "0"), digit < 10 {
      let (product, isProductOver) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, isSumOver) = product.addingReportingOverflow(UInt64(digit))
      guard !isProductOver, !isSumOver else { throw failure("a number out of range") }
      magnitude = sum
      position += 1
    }
    // No number begins with a zero but 0, see RFC 8259 section 6.
    guard position > start, byte(at: start) != UInt8(ascii: "0") || position == start + 1 else {
      throw failure("not a whole number")
    }
    let value =
      isNegative ? Value(exactly: -Int128(magnitude)) : Value(exactly: magnitude)
    guard let value else { throw failure("a number out of range") }
    return value
  }

  mutating func real() throws(FieldError) -> Double {
    let start = position
    try skipNumber()
    let text = unsafe String(decoding: slice(start..<position), as: UTF8.self)
    guard let value = Double(text), value.isFinite else { throw failure("a number out of range") }
    return value
  }

  mutating func bool() throws(FieldError) -> Bool {
    if take("true") { return true }
    guard take("false") else { throw failure("neither true nor false") }
    return false
  }

  /// Text in valid UTF-8.
  mutating func string() throws(FieldError) -> String {
    try expect(UInt8(ascii: "\""), "not a text")
    let start = position
    let (isEscaped, isASCII) = try passText()
    guard
      let text =
        isASCII
        ? unsafe String(decoding: slice(start..<position - 1), as: UTF8.self)
        : unsafe String(validating: slice(start..<position - 1), as: UTF8.self)
    else {
      throw failure("a text that is not UTF-8")
    }
    return isEscaped ? try unescaped(text) : text
  }

  /// Passes the rest of a text and its quotation mark.
  ///
  /// - Returns: whether it has escapes, and whether all of it is ASCII.
  private mutating func passText() throws(FieldError) -> (isEscaped: Bool, isASCII: Bool) {
    var isEscaped = false
    var bits: UInt8 = 0
    while position < count {
      let byte = next
      position += 1
      bits |= byte
      switch byte {
      case UInt8(ascii: "\""): return (isEscaped, bits < 0x80)
      case UInt8(ascii: "\\"):
        isEscaped = true
        position += 1
      case 0..<0x20: throw failure("a control character in a text")
      default: break
      }
    }
    throw failure("a text without an end")
  }

  private func unescaped(_ text: String) throws(FieldError) -> String {
    var rest = text.unicodeScalars[...]
    var result = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
      guard scalar == "\\" else {
        result.append(scalar)
        continue
      }
      guard let unescaped = Self.unescaped(&rest) else { throw failure("an unknown escape") }
      result.append(unescaped)
    }
    return String(result)
  }

  /// The character of an escape behind its backslash (RFC 8259 section 7).
  private static func unescaped(_ rest: inout Substring.UnicodeScalarView) -> Unicode.Scalar? {
    switch rest.popFirst() {
    case "\""?: return "\""
    case "\\"?: return "\\"
    case "/"?: return "/"
    case "b"?: return "\u{8}"
    case "t"?: return "\t"
    case "n"?: return "\n"
    case "f"?: return "\u{c}"
    case "r"?: return "\r"
    case "u"?:
      guard let unit = codeUnit(&rest) else { return nil }
      guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
      guard rest.popFirst() == "\\", rest.popFirst() == "u", let trail = codeUnit(&rest),
        UTF16.isTrailSurrogate(trail)
      else { return nil }
      return Unicode.Scalar(0x1_0000 + (UInt32(unit & 0x3FF) << 10 | UInt32(trail & 0x3FF)))
    default: return nil
    }
  }

  private static func codeUnit(_ rest: inout Substring.UnicodeScalarView) -> UInt16? {
    let digits = rest.prefix(4)
    rest = rest.dropFirst(4)
    guard digits.count == 4, digits.allSatisfy(\.properties.isASCIIHexDigit) else { return nil }
    return UInt16(String(digits), radix: 16)
  }

  // MARK: - What is not asked for

  /// Passes a value with all values in it. Those that are open are on a stack with a limit, so that no peer
  /// exhausts the stack of the thread.
  private mutating func skipValue() throws(FieldError) {
    /// The ends of the objects and arrays around the next value, the innermost last.
    var ends: [UInt8] = []
    while true {
      skipWhiteSpace()
      if ends.last == UInt8(ascii: "}") { _ = try name() }
      switch next {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let end = next == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
        position += 1
        skipWhiteSpace()
        if !take(end) {
          ends.append(end)
          guard ends.count < Self.maximumSkippedDepth else { throw failure("not a value") }
          continue
        }
      case UInt8(ascii: "\""): _ = try string()
      default: if !take("true"), !take("false"), !take("null") { try skipNumber() }
      }
      while let end = ends.last {
        skipWhiteSpace()
        if take(UInt8(ascii: ",")) { break }
        try expect(end, "not the end of a value")
        ends.removeLast()
      }
      if ends.isEmpty { return }
    }
  }

  /// The name of a member, up to its value.
  private mutating func name() throws(FieldError) -> String {
    let name = try string()
    skipWhiteSpace()
    try expect(UInt8(ascii: ":"), "no colon behind a name")
    skipWhiteSpace()
    return name
  }

  /// Passes a number (RFC 8259 section 6).
  private mutating func skipNumber() throws(FieldError) {
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try skipDigits() }
    if take(UInt8(ascii: ".")) { try skipDigits() }
    guard take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) else { return }
    if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
    try skipDigits()
  }

  private mutating func skipDigits() throws(FieldError) {
    let start = position
    while next &- UInt8(ascii: "0") < 10 { position += 1 }
    guard position > start else { throw failure("not a value") }
  }

  // MARK: - JSON of any shape

  /// Passes a value to its end, and returns to its beginning.
  mutating func checkValue() throws(FieldError) {
    let start = position
    try skipValue()
    try finish()
    position = start
  }

  /// The names of an object's members, and 0 for the first element of an array; none of another value.
  mutating func memberNames() throws(FieldError) -> [String] {
    if next == UInt8(ascii: "[") { return try findElement(0) ? ["0"] : [] }
    guard next == UInt8(ascii: "{") else { return [] }
    return try members().members.map(\.name)
  }

  /// Goes to a value in the value at the position.
  ///
  /// - Parameter path: the names of members, and the numbers of elements from 0.
  /// - Returns: whether it is there.
  mutating func find(_ path: [String]) throws(FieldError) -> Bool {
    for name in path {
      if next == UInt8(ascii: "[") {
        guard let index = Int(name), try findElement(index) else { return false }
      } else {
        guard next == UInt8(ascii: "{") else { return false }
        try beginObject()
        guard findMember(name) else { return false }
      }
    }
    return true
  }

  /// The JSON of the values at several places in the value at the position, see ``find(_:)``; `nil` where there is none,
  /// or `null`.
  mutating func values(at paths: [[String]]) throws(FieldError) -> [[UInt8]?] {
    let start = position
    let members = next == UInt8(ascii: "{") ? try members().members : []
    var values: [[UInt8]?] = []
    for path in paths {
      position = start
      var rest = path[...]
      if let member = members.first(where: { $0.name == path.first }) {
        position = member.value.lowerBound
        rest.removeFirst()
      }
      guard try find(Array(rest)), next != UInt8(ascii: "n") else {
        values.append(nil)
        continue
      }
      let valueStart = position
      try skipValue()
      values.append(json(since: valueStart))
    }
    return values
  }

  private mutating func findElement(_ index: Int) throws(FieldError) -> Bool {
    try beginArray()
    var count = 0
    while try hasElement(after: count) {
      if count == index { return true }
      try skipValue()
      count += 1
    }
    return false
  }

  var isAtText: Bool { next == UInt8(ascii: "\"") }

  // MARK: - Bytes

  private mutating func skipWhiteSpace() {
    guard isLenient else { return }
    while [0x20, 0x0A, 0x0D, 0x09].contains(next) {
      position += 1
    }
  }

  private mutating func expect(_ byte: UInt8, _ reason: StaticString) throws(FieldError) {
    guard take(byte) else { throw failure("\(reason)") }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func take(_ word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= count, isName(word, at: position) else { return false }
    position = end
    return true
  }

  /// Whether the next bytes are these, which it passes then.
  mutating func take(_ json: [UInt8]) -> Bool {
    let end = position + json.count
    guard end <= count, unsafe Self.areEqual(slice(position..<end), json) else { return false }
    position = end
    return true
  }

  /// Compares 8 bytes at a time.
  private static func areEqual(_ bytes: UnsafeBufferPointer<UInt8>, _ others: [UInt8]) -> Bool {
    let bytes = UnsafeRawBufferPointer(bytes)
    return unsafe others.withUnsafeBytes { others in
      let wordEnd = others.count & ~7
      for start in stride(from: 0, to: wordEnd, by: 8)
      where unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
        != others.loadUnaligned(fromByteOffset: start, as: UInt64.self)
      { return false }
      return (wordEnd..<others.count).allSatisfy { unsafe bytes[$0] == others[$0] }
    }
  }

  /// The bytes since an earlier position, see ``mark``.
  func json(since mark: Int) -> [UInt8] { unsafe Array(slice(mark..<position)) }

  /// Where it is; `nil` while it takes any JSON, of which nothing is remembered.
  var mark: Int? { isLenient ? nil : position }
}
