/// A duration that is encoded as a whole number of milliseconds.
@propertyWrapper
package struct Milliseconds: Hashable, Sendable {
  package var wrappedValue: Duration

  package init(wrappedValue: Duration) {
    self.wrappedValue = wrappedValue
  }
}

extension Milliseconds: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: .milliseconds(try container.decode(Int64.self)))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.milliseconds)
  }
}

/// A duration that is encoded as a whole number of milliseconds; `nil` as no value at all.
@propertyWrapper
package struct OptionalMilliseconds: Hashable, Sendable {
  package var wrappedValue: Duration?

  package init(wrappedValue: Duration?) {
    self.wrappedValue = wrappedValue
  }
}

extension OptionalMilliseconds: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(
      wrappedValue: container.decodeNil()
        ? nil : try container.decode(Milliseconds.self).wrappedValue)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.map(Milliseconds.init))
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write `null`.

extension KeyedDecodingContainer {
  package func decode(
    _ type: OptionalMilliseconds.Type, forKey key: Key
  ) throws -> OptionalMilliseconds {
    OptionalMilliseconds(
      wrappedValue: try decodeIfPresent(Milliseconds.self, forKey: key)?.wrappedValue)
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: OptionalMilliseconds, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue.map(Milliseconds.init), forKey: key)
  }
}
