/// What a person calls a picture in place of its URL: the same picture under whatever URL.
package struct CacheKey: Hashable, Sendable {
  package let text: String

  /// - Throws: ``InvalidFetchOption`` for what no URL could be either, by which records of the store
  ///   tell a name from what follows it.
  package init(_ text: String) throws(InvalidFetchOption) {
    guard (1...ImageURL.maximumByteCount).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else {
      throw InvalidFetchOption(
        "a key has from 1 to \(ImageURL.maximumByteCount) bytes, none of them a space or a "
          + "control character")
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
