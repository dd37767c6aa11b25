import ImgModel

/// The address of a picture in a request.
enum SourceAddress {
  /// A URL with its scheme, normalized.
  ///
  /// - Throws: 400.
  static func url(_ text: String) throws(RequestRejection) -> ImageURL {
    do throws(Failure) {
      return try ImageURL(parsing: text)
    } catch {
      throw .invalidURL(error.detail)
    }
  }

  /// A URL as weserv reads it: without a scheme it is `http:`. `ssl:` and `//` before the host are `https:`.
  ///
  /// - Throws: 400.
  static func completed(_ text: String) throws(RequestRejection) -> ImageURL {
    guard !text.isEmpty else {
      throw .invalidURL("the address of the picture is empty; write ?url=https://example.org/a.jpg")
    }
    let start = text.prefix(longestScheme).lowercased()
    if let prefix = completePrefixes.first(where: start.hasPrefix) {
      // The scheme is ASCII, so as many bytes of the text are it.
      return try url(prefix + text.dropFirst(prefix.count))
    }
    for (prefix, scheme) in shortPrefixes where start.hasPrefix(prefix) {
      return try url(scheme + text.dropFirst(prefix.count))
    }
    return try url(hasScheme(text) ? text : "http://" + text)
  }

  /// Whether `://` follows the first word, also after a scheme that is not supported.
  private static func hasScheme(_ text: String) -> Bool {
    let rest = text.utf8.drop { !":/?#".utf8.contains($0) }
    return rest.starts(with: "://".utf8)
  }

  private static let longestScheme = 8
  private static let completePrefixes = ["http:", "https:", "data:", "file:"]
  private static let shortPrefixes = [
    ("ssl://", "https://"), ("ssl:", "https://"), ("//", "https://"),
  ]
}
