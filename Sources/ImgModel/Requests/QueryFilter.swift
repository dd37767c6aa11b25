/// The query parameters that are not part of a picture's name, such as the signature of a presigned
/// URL.
///
/// A pattern is a parameter's name as the URL spells it, with its case and its escapes. Each `*`
/// matches any text. Characters that are not ASCII are escaped as in ``ImageURL/text``.
package struct QueryFilter: Hashable, Sendable {
  /// Sorted and unique, so that equal sets compare equal.
  private let patterns: [String]

  package static let maximumCount = 32
  package static let maximumByteCount = 256

  package static let none = QueryFilter()

  private init() {
    patterns = []
  }

  /// - Throws: ``InvalidFetchOption`` for a pattern that no parameter can match, and if the patterns
  ///   exceed a limit.
  package init(_ patterns: [String]) throws(InvalidFetchOption) {
    guard patterns.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) patterns can be set")
    }
    guard patterns.allSatisfy(Self.isValid) else {
      throw InvalidFetchOption(
        "a pattern must be a parameter's name as the URL spells it, of at most "
          + "\(Self.maximumByteCount) bytes; * matches any text")
    }
    self.patterns = Set(patterns).sorted()
  }

  private static func isValid(_ pattern: String) -> Bool {
    (1...maximumByteCount).contains(pattern.utf8.count)
      && pattern.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"&=#".utf8.contains($0) }
  }

  /// Removes the parameters that match from a URL. The others keep their spelling and order. An
  /// empty query is removed with its question mark.
  ///
  /// - Parameter url: a URL without a fragment.
  package func filtered(_ url: String) -> String {
    let bytes = Array(url.utf8)
    guard !patterns.isEmpty, let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let patterns = patterns.map { Glob(PercentEncoding.completed(Array($0.utf8)[...])) }
    let parameters = bytes[(mark + 1)...]
      .split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
      .filter { parameter in
        let name = Array(parameter.prefix { $0 != UInt8(ascii: "=") })
        return !patterns.contains { $0.matches(name) }
      }
    let query = Array(parameters.joined(separator: [UInt8(ascii: "&")]))
    let filtered = bytes[..<mark] + (query.isEmpty ? [] : [UInt8(ascii: "?")] + query)
    return String(decoding: filtered, as: UTF8.self)
  }
}

extension QueryFilter: Codable {
  package init(from decoder: any Decoder) throws {
    let decoded = try decoder.singleValueContainer().decode([String].self)
    self = try decoder.checked { try QueryFilter(decoded) }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(patterns)
  }
}
