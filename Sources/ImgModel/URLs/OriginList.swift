/// The origins that pictures may come from. It is asked about the URL as it is fetched, so a spelling that
/// people or parsers misread does not pass.
package struct OriginList: Hashable, Sendable {
  /// Sorted and unique, so that equal lists compare equal. Empty for every `http:` and `https:` origin.
  private let patterns: [OriginPattern]

  package static let maximumCount = 256
  /// The total size of the patterns.
  package static let maximumByteCount = 8 << 10

  /// Every `http:` and `https:` origin.
  package static let all = OriginList()

  private init() {
    patterns = []
  }

  /// - Parameter patterns: without any, every `http:` and `https:` origin is permitted.
  /// - Throws: ``InvalidFetchOption`` if the patterns exceed a limit.
  package init(_ patterns: [OriginPattern]) throws(InvalidFetchOption) {
    guard patterns.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) origins can be set")
    }
    guard patterns.reduce(0, { $0 + $1.text.utf8.count }) <= Self.maximumByteCount else {
      throw InvalidFetchOption("origins can have at most \(Self.maximumByteCount) bytes in total")
    }
    self.patterns = Set(patterns).sorted { $0.text < $1.text }
  }

  /// Whether a picture may come from a URL. Files never do; `data:` URLs only if the list has them.
  package func permits(_ url: ImageURL) -> Bool {
    patterns.isEmpty ? !url.isLocal : patterns.contains { $0.matches(url) }
  }
}

extension OriginList: Codable {
  package init(from decoder: any Decoder) throws {
    let decoded = try decoder.singleValueContainer().decode([OriginPattern].self)
    self = try decoder.checked { try OriginList(decoded) }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(patterns)
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write an empty list.

extension KeyedDecodingContainer {
  package func decode(_ type: OriginList.Type, forKey key: Key) throws -> OriginList {
    try decodeIfPresent(OriginList.self, forKey: key) ?? .all
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: OriginList, forKey key: Key) throws {
    try encodeIfPresent(value == .all ? nil : value, forKey: key)
  }
}
