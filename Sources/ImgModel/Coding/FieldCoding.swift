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
