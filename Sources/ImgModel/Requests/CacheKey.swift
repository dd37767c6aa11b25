/// A name that a user gives a picture in place of its URL. Several URLs can share it.
package struct CacheKey: Hashable, Sendable {
  package let text: String

  /// - Throws: ``InvalidFetchOption`` for a text with spaces or control characters, or of a wrong
  ///   length. A URL has neither, and the store's records rely on that to find the end of a name.
  package init(_ text: String) throws(InvalidFetchOption) {
    guard (1...ImageURL.maximumByteCount).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else {
      throw InvalidFetchOption(
        "a cache key must have 1 to \(ImageURL.maximumByteCount) bytes without spaces and control "
          + "characters")
    }
    self.text = text
  }
}

extension CacheKey: Codable {
  package init(from decoder: any Decoder) throws {
    let decoded = try decoder.singleValueContainer().decode(String.self)
    self = try decoder.checked { try CacheKey(decoded) }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
