/// The variants beside the first that a request has, in JSON: left out where there are none.
extension Variant {
  /// All variants of a request together.
  package static let maximumCount = 8
}

extension KeyedDecodingContainer {
  func otherVariants(forKey key: Key) throws -> [Variant] {
    let variants = try decodeIfPresent([Variant].self, forKey: key) ?? []
    guard variants.count < Variant.maximumCount else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self,
        debugDescription: "a request has at most \(Variant.maximumCount) variants")
    }
    return variants
  }
}

extension KeyedEncodingContainer {
  mutating func encode(otherVariants: [Variant], forKey key: Key) throws {
    if !otherVariants.isEmpty { try encode(otherVariants, forKey: key) }
  }
}
