/// A value that JSON holds: in messages, in the journal and in outputs for programs. One function
/// describes it for writing and for reading.
///
/// The coding is public and inlinable, because Swift 6.3.1 inlines nothing that has package access, and what
/// is not specialised for the payloads of other modules takes several times as long. It is an SPI, so
/// that it is no part of the library.
@_spi(Coding) public protocol FieldValue: Codable {
  /// Writes a value, or reads one.
  ///
  /// - Parameter value: `nil` to read.
  /// - Returns: the value that was written or read.
  static func coded(_ fields: inout Fields, _ value: Self?) throws(FieldError) -> Self
}

/// A value that JSON holds as an object. An initialiser describes its members:
///
///     init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
///       lease = try f.field("lease", value?.lease)
///       url = try f.field("url", value?.url)
///     }
///
/// When it writes, `value` is there: each call writes a member, and the copy that is made is not used.
/// When it reads, `value` is `nil`, and each call reads a member. The order of the calls is that of the
/// members; `JSONEncoder` sorts them, so that it is the order of their names' bytes. That of a part, whose
/// members are beside its owner's, need not be.
@_spi(Coding) public protocol Fielded: FieldValue {
  /// - Parameter value: what is written; `nil` to read.
  init(_ f: inout Fields, _ value: Self?) throws(FieldError)
}

extension Fielded {
  /// See ``FieldValue``.
  @inlinable
  public static func coded(
    _ fields: inout Fields, _ value: Self?
  ) throws(FieldError) -> Self {
    try fields.beginObject()
    let coded = try Self(&fields, value)
    try fields.endObject()
    return coded
  }
}

/// The members of objects, on their way into JSON or out of it.
@_spi(Coding) public struct Fields {
  var writer = JSONWriter()
  var reader = JSONReader()
  /// The coder of another library; `nil` for the JSON of this module.
  let container: CodingContainer?
  @usableFromInline
  let hasContainer: Bool
  @usableFromInline
  package internal(set) var isReading = false
  /// Whether people read what is written. Values that may be secrets are then omitted.
  var isForPeople = false
  /// What one message leaves for the next; `nil` for single values.
  let memory: JSONMemory?

  package init(remembering memory: JSONMemory? = nil) {
    (container, hasContainer) = (nil, false)
    self.memory = memory
  }

  init(_ container: CodingContainer, isReading: Bool, isForPeople: Bool = false) {
    (self.container, hasContainer) = (container, true)
    memory = nil
    self.isReading = isReading
    self.isForPeople = isForPeople
  }

  // MARK: - Members

  /// A member that is always there.
  @inlinable @discardableResult
  public mutating func field<Value: FieldValue>(
    _ name: StaticString, _ value: consuming Value?
  ) throws(FieldError) -> Value {
    guard !hasContainer else { return try codedByContainer(name, value) }
    if let value {
      beginWriting(name)
      return try Value.coded(&self, value)
    }
    guard let read = try self.read(name, as: Value.self) else { throw missing(name) }
    return read
  }

  /// - Returns: `nil` if there is no member of the name.
  @inlinable
  mutating func read<Value: FieldValue>(
    _ name: StaticString, as _: Value.Type
  ) throws(FieldError) -> Value? {
    guard beginReading(name) else { return nil }
    let value = try Value.coded(&self, nil)
    try endReading()
    return value
  }

  /// A member that is left out for `nil`.
  @inlinable @discardableResult
  public mutating func optional<Value: FieldValue>(
    _ name: StaticString, _ value: Value?
  ) throws(FieldError) -> Value? {
    guard !hasContainer else { return try optionalByContainer(name, value) }
    if isReading { return try read(name, as: Value.self) }
    guard let value else { return nil }
    beginWriting(name)
    return try Value.coded(&self, value)
  }

  /// A member that is left out for the default.
  @inlinable @discardableResult
  public mutating func field<Value: FieldValue & Equatable>(
    _ name: StaticString, _ value: Value?, default standard: @autoclosure () -> Value
  ) throws(FieldError) -> Value {
    try optional(name, value == standard() ? nil : value) ?? value ?? standard()
  }

  /// A member that outputs for people do not have.
  @discardableResult
  package mutating func secret<Value: FieldValue>(
    _ name: StaticString, _ value: Value
  ) throws(FieldError) -> Value {
    isForPeople ? value : try field(name, value)
  }

  /// A Boolean member that a later release replaced by one of another type; `nil` if it has that.
  mutating func optionalBool(_ name: StaticString) -> Bool? {
    let start = reader
    if let value = try? optional(name, nil as Bool?) { return value }
    reader = start
    return nil
  }

  /// Reports that the value is not valid.
  package func invalid(_ reason: String) -> FieldError {
    FieldError(path: reader.path, reason: reason)
  }

  /// Reports that the value of a member is not valid.
  package func invalid(_ name: StaticString, _ reason: String) -> FieldError {
    FieldError(path: reader.path + ["\(name)"], reason: reason)
  }

  /// Reports that a member is missing.
  @usableFromInline
  package func missing(_ name: StaticString) -> FieldError {
    FieldError(path: reader.path + ["\(name)"], reason: nil)
  }

  /// Makes a value of members that were read.
  ///
  /// - Parameter name: the member that a reason speaks of.
  package func checked<Value, Reason: Error & CustomStringConvertible>(
    _ name: StaticString? = nil, _ make: () throws(Reason) -> Value
  ) throws(FieldError) -> Value {
    do throws(Reason) {
      return try make()
    } catch {
      throw name.map { invalid($0, error.description) } ?? invalid(error.description)
    }
  }

  // MARK: - Structure

  @usableFromInline
  package mutating func beginObject() throws(FieldError) {
    if isReading { try reader.beginObject() } else { writer.beginObject() }
  }

  @usableFromInline
  package mutating func endObject() throws(FieldError) {
    if isReading { try reader.endObject() } else { writer.endObject() }
  }

  // MARK: - Values

  package mutating func number<Value: FixedWidthInteger>(
    _ value: Value?
  ) throws(FieldError) -> Value {
    guard let value else { return try reader.number() }
    writer.number(value)
    return value
  }

  package mutating func text(_ value: String?) throws(FieldError) -> String {
    guard let value else { return try reader.string() }
    writer.string(value)
    return value
  }

  package mutating func bool(_ value: Bool?) throws(FieldError) -> Bool {
    guard let value else { return try reader.bool() }
    writer.bool(value)
    return value
  }

  mutating func real(_ value: Double?) throws(FieldError) -> Double {
    guard let value else { return try reader.real() }
    writer.real(value)
    return value
  }

  /// Writes or reads a list of values.
  @inlinable
  public mutating func list<Element: FieldValue>(
    _ values: [Element]?
  ) throws(FieldError) -> [Element] {
    guard let values else { return try readList() }
    beginWritingList()
    for value in values {
      beginWritingElement()
      _ = try Element.coded(&self, value)
    }
    endWritingList()
    return values
  }

  @inlinable
  mutating func readList<Element: FieldValue>() throws(FieldError) -> [Element] {
    var values: [Element] = []
    try beginReadingList()
    while try hasElement(after: values.count) {
      values.append(try Element.coded(&self, nil))
    }
    return values
  }

  // MARK: - For the functions that are generic

  @usableFromInline
  mutating func beginWriting(_ name: StaticString) { writer.member(name) }

  @usableFromInline
  mutating func beginReading(_ name: StaticString) -> Bool { reader.beginMember(name) }

  @usableFromInline
  mutating func endReading() throws(FieldError) { try reader.endMember() }

  @usableFromInline
  mutating func beginWritingList() { writer.beginArray() }

  @usableFromInline
  mutating func beginWritingElement() { writer.separate() }

  @usableFromInline
  mutating func endWritingList() { writer.endArray() }

  @usableFromInline
  mutating func beginReadingList() throws(FieldError) { try reader.beginArray() }

  @usableFromInline
  mutating func hasElement(after count: Int) throws(FieldError) -> Bool {
    try reader.hasElement(after: count)
  }
}
