import ImgHTTP
package import ImgModel
package import ImgSettings

/// The origins that pictures may come from. It is asked about the URL as it is fetched, so a spelling that
/// people or parsers misread does not pass.
package struct OriginList: Hashable, Sendable {
  /// `nil` for every `http:` and `https:` origin.
  private let patterns: [OriginPattern]?

  /// Every `http:` and `https:` origin.
  package static let all = OriginList(patterns: nil)

  private init(patterns: [OriginPattern]?) {
    self.patterns = patterns
  }

  /// - Parameter texts: see ``OriginPattern``. No entry at all is ``all``.
  package init(parsing texts: [String]) throws(InvalidValue) {
    var patterns: [OriginPattern] = []
    for text in texts { patterns.append(try OriginPattern(parsing: text)) }
    self.init(patterns: patterns.isEmpty ? nil : patterns)
  }

  /// Whether a picture may come from a URL. Files never do; `data:` URLs only if the list has them.
  package func permits(_ url: ImageURL) -> Bool {
    guard let patterns else { return !url.isLocal }
    return patterns.contains { $0.matches(url) }
  }

  /// - Throws: 403.
  func require(_ url: ImageURL) throws(RequestRejection) {
    guard permits(url) else {
      throw RequestRejection(
        .forbidden, code: "blocked_origin",
        "pictures from this address are not served; the server lists the origins that are")
    }
  }
}
