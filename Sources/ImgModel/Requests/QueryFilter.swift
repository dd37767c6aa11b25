/// Which parameters of a URL's query do not count for a picture's name, such as the signature of a
/// presigned URL.
///
/// A pattern is a parameter's name as it is written in the URL, case and escapes included; each `*` in
/// it stands for any text. What is no ASCII has its escapes, as in ``ImageURL/text``.
package struct QueryFilter: Hashable, Sendable {
  /// In the order of their bytes, each once, so that equal sets are equal.
  private let patterns: [String]

  package static let maximumCount = 32
  package static let maximumByteCount = 256

  package static let none = QueryFilter()

  private init() {
    patterns = []
  }

  /// - Throws: ``InvalidFetchOption`` for a pattern that no parameter can match, and for more than
  ///   the limits.
  package init(_ patterns: [String]) throws(InvalidFetchOption) {
    guard patterns.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) patterns can be given")
    }
    guard patterns.allSatisfy(Self.isValid) else {
      throw InvalidFetchOption(
        "a pattern is a parameter's name as the URL writes it, of at most "
          + "\(Self.maximumByteCount) bytes, in which * stands for any text")
    }
    self.patterns = Set(patterns).sorted()
  }

  private static func isValid(_ pattern: String) -> Bool {
    (1...maximumByteCount).contains(pattern.utf8.count)
      && pattern.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"&=#".utf8.contains($0) }
  }

  /// The URL without the parameters that do not count. The others stay as and where they are; a
  /// query of which nothing is left goes with its question mark.
  ///
  /// - Parameter url: without a fragment.
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
