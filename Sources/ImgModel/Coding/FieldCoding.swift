import FoundationEssentials

/// Why JSON is not the value that was expected of it.
@_spi(Coding) public struct FieldError: Error, Hashable, CustomStringConvertible {
  /// A phrase for people, which names the member.
  public let description: String

  /// JSON in a form that only a second reading takes.
  static let notCanonical = FieldError(description: "not in the form that programs send")

  private init(description: String) {
    self.description = description
  }

  /// - Parameters:
  ///   - path: the names of the members that lead to the value.
  ///   - reason: `nil` if the last member is missing.
  init(path: [String], reason: String?) {
    description =
      if let reason {
        path.isEmpty ? reason : "\"\(path.joined(separator: "."))\": \(reason)"
      } else {
        "\"\(path.last ?? "")\" is missing"
      }
  }
}

extension Fields {
  /// The JSON of a value.
  package static func json(of value: some FieldValue) -> [UInt8] {
    var fields = Fields()
    return Array(fields.json(of: value))
  }

  /// The value of JSON.
  package static func value<Value: FieldValue>(
    _ type: Value.Type, of json: ArraySlice<UInt8>
  ) throws(FieldError) -> Value {
    var fields = Fields()
    return try fields.read(json) { fields throws(FieldError) in try Value.coded(&fields, nil) }
  }
}

extension Fields {
  /// The JSON of a value, until the next is written.
  package mutating func json(of value: some FieldValue) -> ArraySlice<UInt8> {
    do throws(FieldError) {
      _ = try write { fields throws(FieldError) in try Self.put(value, &fields) }
    } catch {
      preconditionFailure("a value that can be read has a JSON: \(error)")
    }
    return writer.finish()
  }

  private static func put<Value: FieldValue>(
    _ value: Value, _ fields: inout Fields
  ) throws(FieldError) {
    _ = try Value.coded(&fields, value)
  }

  /// Writes JSON behind bytes that stay free, see ``written(behind:)``.
  ///
  /// - Returns: the number of bytes with those in front.
  /// - Throws: ``FieldError`` for a value that could not be read again.
  package mutating func write(
    leadingByteCount: Int = 0, _ body: (inout Fields) throws(FieldError) -> Void
  ) throws(FieldError) -> Int {
    writer.start(leadingByteCount: leadingByteCount)
    isReading = false
    try body(&self)
    return writer.byteCount
  }

  /// What was written last, behind its length in 4 bytes, big-endian.
  package mutating func written(behind byteCount: UInt32) -> ArraySlice<UInt8> {
    for index in 0..<4 {
      writer.set(UInt8(truncatingIfNeeded: byteCount >> (24 - 8 * index)), at: index)
    }
    return writer.finish()
  }

  /// Reads JSON, a second time if it is not what ``JSONWriter`` writes.
  package mutating func read<Value>(
    _ json: ArraySlice<UInt8>, _ body: (inout Fields) throws(FieldError) -> Value
  ) throws(FieldError) -> Value {
    isReading = true
    if let value = try? readOnce(json, isLenient: false, body) { return value }
    return try readOnce(json, isLenient: true, body)
  }

  mutating func readOnce<Value>(
    _ json: ArraySlice<UInt8>, isLenient: Bool,
    _ body: (inout Fields) throws(FieldError) -> Value
  ) throws(FieldError) -> Value {
    defer { reader.end() }
    return try unsafe json.withUnsafeBufferPointer { json throws(FieldError) in
      unsafe reader.start(json, isLenient: isLenient)
      let value = try body(&self)
      try reader.finish()
      return value
    }
  }

  /// Begins the object of a message, whose first member is its type.
  package mutating func beginMessage(_ type: StaticString) { writer.beginMessage(type) }

  /// Begins a message that is read.
  package mutating func messageType() throws(FieldError) -> String { try reader.messageType() }
}

/// A value of JSON of any shape.
package struct JSONValue {
  private let json: ArraySlice<UInt8>

  /// - Throws: ``FieldError`` if it is no value, or more than one.
  package init(_ json: ArraySlice<UInt8>) throws(FieldError) {
    self.json = json
    try read { reader throws(FieldError) in try reader.checkValue() }
  }

  /// The names of an object's members, and 0 for the first element of an array; none of another value.
  ///
  /// - Parameter path: see ``text(at:)``.
  package func memberNames(at path: [String]) -> [String] {
    let names = try? read { reader throws(FieldError) in
      try reader.find(path) ? try reader.memberNames() : []
    }
    return names ?? []
  }

  /// The text at a place.
  ///
  /// - Parameter path: the names of members, and the numbers of elements from 0; empty for the value itself.
  /// - Returns: `nil` if no text is there.
  package func text(at path: [String]) -> String? {
    try? read { reader throws(FieldError) in
      try reader.find(path) && reader.isAtText ? try reader.string() : nil
    }
  }

  /// The JSON of the values at several places; `nil` where there is none, or `null`.
  ///
  /// - Parameter paths: see ``text(at:)``.
  package func values(at paths: [[String]]) -> [[UInt8]?] {
    let values = try? read { reader throws(FieldError) in try reader.values(at: paths) }
    return values ?? Array(repeating: nil, count: paths.count)
  }

  private func read<Result>(
    _ body: (inout JSONReader) throws(FieldError) -> Result
  ) throws(FieldError) -> Result {
    var reader = JSONReader()
    return try unsafe json.withUnsafeBufferPointer { bytes throws(FieldError) in
      unsafe reader.start(bytes, isLenient: true)
      return try body(&reader)
    }
  }
}

// MARK: - Foundation

/// A container of a coder that is not of this module: outputs for programs are put together by
/// `JSONEncoder` from values of many modules.
enum CodingContainer {
  case encoding(KeyedEncodingContainer<FieldKey>)
  case decoding(KeyedDecodingContainer<FieldKey>)
}

/// The name of a member.
struct FieldKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: StaticString) { stringValue = "\(name)" }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Fields {
  @usableFromInline
  mutating func codedByContainer<Value: FieldValue>(
    _ name: StaticString, _ value: Value?
  ) throws(FieldError) -> Value {
    guard let value = try optionalByContainer(name, value) else {
      throw FieldError(path: ["\(name)"], reason: nil)
    }
    return value
  }

  @usableFromInline
  mutating func optionalByContainer<Value: FieldValue>(
    _ name: StaticString, _ value: Value?
  ) throws(FieldError) -> Value? {
    do {
      switch container {
      case .encoding(var container)?:
        try container.encodeIfPresent(value, forKey: FieldKey(name))
        return value
      case .decoding(let container)?:
        return try container.decodeIfPresent(Value.self, forKey: FieldKey(name))
      case nil: preconditionFailure("there is a container")
      }
    } catch {
      throw invalid(name, DecodingError.reason(error))
    }
  }
}

extension DecodingError {
  fileprivate static func reason(_ error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
      context.debugDescription
    default: String(describing: error)
    }
  }

  fileprivate init(_ reason: String, _ decoder: any Decoder) {
    self = .dataCorrupted(Context(codingPath: decoder.codingPath, debugDescription: reason))
  }
}

extension Fielded {
  /// See ``FieldValue``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: FieldKey.self)
    var fields = Fields(.decoding(container), isReading: true)
    do {
      try self.init(&fields, nil)
    } catch {
      throw DecodingError(error.description, decoder)
    }
  }

  /// See ``FieldValue``.
  public func encode(to encoder: any Encoder) throws {
    let container = encoder.container(keyedBy: FieldKey.self)
    var fields = Fields(
      .encoding(container), isReading: false,
      isForPeople: encoder.userInfo[.isForPeople] != nil)
    _ = try Self(&fields, self)
  }
}

extension WrappingValue {
  /// See ``FieldValue``.
  public init(from decoder: any Decoder) throws {
    let coded = try decoder.singleValueContainer().decode(Coded.self)
    do {
      try self.init(coded: coded)
    } catch {
      throw DecodingError(String(describing: error), decoder)
    }
  }

  /// See ``FieldValue``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(coded)
  }
}

extension CodingUserInfoKey {
  /// Set in an encoder whose output people read. Values that may be secrets are then omitted.
  package static var isForPeople: CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: "imgctl.isForPeople") else {
      preconditionFailure("any text is a valid key")
    }
    return key
  }
}

/// A value that JSON holds as a simpler one, such as a text or a list.
@_spi(Coding) public protocol WrappingValue: FieldValue {
  associatedtype Coded: FieldValue
  /// The value in JSON.
  var coded: Coded { get }
  /// - Throws: an error whose description is the reason why there is no such value.
  init(coded: Coded) throws
}

extension WrappingValue {
  /// See ``FieldValue``.
  public static func coded(
    _ fields: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    let coded = try Coded.coded(&fields, value?.coded)
    if let value { return value }
    do {
      return try Self(coded: coded)
    } catch {
      throw fields.invalid(String(describing: error))
    }
  }
}

/// A value that JSON holds as its description.
@_spi(Coding) public protocol TextValue: WrappingValue, LosslessStringConvertible {}

extension TextValue {
  /// The description.
  public var coded: String { description }

  /// See ``FieldValue``.
  public init(coded text: String) throws {
    guard let value = Self(text) else { throw InvalidCoding("unknown: \(text)") }
    self = value
  }
}

/// The reason why a text or a number is no value of a type.
struct InvalidCoding: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension FieldValue where Self: RawRepresentable<String> {
  /// The case whose raw value is the text.
  public static func coded(
    _ fields: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    let text = try fields.text(value?.rawValue)
    if let value { return value }
    guard let read = Self(rawValue: text) else { throw fields.invalid("unknown: \(text)") }
    return read
  }
}

extension FieldValue where Self: RawRepresentable<Int> {
  /// The case whose raw value is the number.
  public static func coded(
    _ fields: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    let number: Int = try fields.number(value?.rawValue)
    if let value { return value }
    guard let read = Self(rawValue: number) else { throw fields.invalid("unknown: \(number)") }
    return read
  }
}

extension FieldValue where Self: FixedWidthInteger {
  /// See ``FieldValue``.
  public static func coded(
    _ fields: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    try fields.number(value)
  }
}

@_spi(Coding) extension Int: FieldValue {}
@_spi(Coding) extension Int32: FieldValue {}
@_spi(Coding) extension Int64: FieldValue {}
@_spi(Coding) extension UInt8: FieldValue {}
@_spi(Coding) extension UInt64: FieldValue {}

@_spi(Coding) extension Identifier: FieldValue {
  /// See ``FieldValue``.
  public static func coded(
    _ fields: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    Self(rawValue: try fields.number(value?.rawValue))
  }
}

@_spi(Coding) extension Bool: FieldValue {
  /// See ``FieldValue``.
  public static func coded(
    _ fields: inout Fields, _ value: Bool?
  ) throws(FieldError) -> Bool {
    try fields.bool(value)
  }
}

@_spi(Coding) extension Double: FieldValue {
  /// See ``FieldValue``.
  public static func coded(
    _ fields: inout Fields, _ value: Double?
  ) throws(FieldError) -> Double {
    try fields.real(value)
  }
}

@_spi(Coding) extension String: FieldValue {
  /// See ``FieldValue``.
  public static func coded(
    _ fields: inout Fields, _ value: String?
  ) throws(FieldError) -> String {
    try fields.text(value)
  }
}

@_spi(Coding) extension Array: FieldValue where Element: FieldValue {
  /// See ``FieldValue``.
  @inlinable
  public static func coded(
    _ fields: inout Fields, _ value: [Element]?
  ) throws(FieldError) -> [Element] {
    try fields.list(value)
  }
}

/// Durations are whole milliseconds.
extension Fields {
  @discardableResult
  package mutating func field(
    _ name: StaticString, _ value: Duration?
  ) throws(FieldError) -> Duration {
    .milliseconds(try field(name, value?.milliseconds))
  }

  @discardableResult
  package mutating func optional(
    _ name: StaticString, _ value: Duration?
  ) throws(FieldError) -> Duration? {
    try optional(name, value?.milliseconds).map { .milliseconds($0) }
  }
}

/// What a connection remembers of its messages: the options that messages in a row share.
package final class JSONMemory {
  let request = JSONMemo<ThumbnailRequest>()
  let options = JSONMemo<RequestOptions>()
  let retention = JSONMemo<Retention>()

  package init() {}
}

/// The last value of one type and its JSON. Messages in a row mostly have equal options, so that each
/// side codes them once.
final class JSONMemo<Value: Equatable> {
  private var value: Value?
  private var json: [UInt8] = []

  /// Longer JSON is not kept: each connection has memos, and a peer decides on the length.
  private static var keptByteCount: Int { 4 << 10 }

  /// The JSON of a value; `nil` if it is not the last.
  func json(of value: Value) -> [UInt8]? { self.value == value ? json : nil }

  /// The last value if a reader is at its JSON, which it passes then.
  func value(at reader: inout JSONReader) -> Value? {
    guard let value, reader.take(json) else { return nil }
    return value
  }

  func remember(_ value: Value, _ json: [UInt8]) {
    guard json.count <= Self.keptByteCount else { return }
    (self.value, self.json) = (value, json)
  }
}

/// Objects that are often equal in messages that follow each other.
extension Fields {
  /// - Parameter isFrequent: whether a value is probably that of the next message, too.
  mutating func remembered<Value: Fielded & Equatable>(
    _ memo: JSONMemo<Value>?, _ value: Value?, if isFrequent: (Value) -> Bool = { _ in true }
  ) throws(FieldError) -> Value {
    if let value, let json = memo?.json(of: value) {
      writer.put(json)
      return value
    }
    if isReading, let last = memo?.value(at: &reader) { return last }
    let start = isReading ? reader.mark : writer.mark
    try beginObject()
    let coded = try Value(&self, value)
    try endObject()
    if let memo, let start, isFrequent(coded) {
      memo.remember(coded, isReading ? reader.json(since: start) : writer.json(since: start))
    }
    return coded
  }
}
