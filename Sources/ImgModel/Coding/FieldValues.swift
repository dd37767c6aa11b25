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

/// Objects of which messages in a row have equal ones.
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
