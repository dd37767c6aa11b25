/// The variants beside the first that a request has. In JSON they are left out where there are none.
@propertyWrapper
package struct OtherVariants: Hashable, Sendable {
  package var wrappedValue: [Variant]

  package init(wrappedValue: [Variant]) {
    self.wrappedValue = wrappedValue
  }
}

extension Variant {
  /// All variants of a request together.
  package static let maximumCount = 8
}

extension OtherVariants: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: try container.decode([Variant].self))
    guard wrappedValue.count < Variant.maximumCount else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "a request has at most \(Variant.maximumCount) variants")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write an empty list.

extension KeyedDecodingContainer {
  package func decode(_ type: OtherVariants.Type, forKey key: Key) throws -> OtherVariants {
    try decodeIfPresent(OtherVariants.self, forKey: key) ?? OtherVariants(wrappedValue: [])
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: OtherVariants, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue.isEmpty ? nil : value, forKey: key)
  }
}
