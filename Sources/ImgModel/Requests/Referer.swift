/// The Referer (RFC 9110 section 10.1.3) of a request that has none among its ``FetchOptions/headers``.
package enum Referer: String, Hashable, Sendable, Codable {
  case none
  /// The origin of the URL that is requested, with a slash after it: what a page of the same site sends.
  case ownOrigin = "auto"

  /// The field for a URL; `nil` for none.
  func field(for url: ImageURL) -> HeaderField? {
    guard self == .ownOrigin, !url.isLocal else { return nil }
    return try? HeaderField(name: "referer", value: "\(url.origin)/")
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write the default.

extension KeyedDecodingContainer {
  package func decode(_ type: Referer.Type, forKey key: Key) throws -> Referer {
    try decodeIfPresent(Referer.self, forKey: key) ?? .none
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: Referer, forKey key: Key) throws {
    try encodeIfPresent(value == .none ? nil : value, forKey: key)
  }
}
