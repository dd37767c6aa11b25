internal import ImgModel

/// What a transfer fetches.
enum TransferContent {
  case picture
  /// A short text such as a robots.txt, which is read up to a limit.
  case text(maximumByteCount: Int)

  var isPicture: Bool {
    if case .picture = self { true } else { false }
  }

  func maximumByteCount(_ limits: Limits) -> Int {
    switch self {
    case .picture: Int(limits.maxBodyByteCount)
    case .text(let maximumByteCount): maximumByteCount
    }
  }

  /// A picture waits for a text, so a text has half a minute at most. Five redirects are followed
  /// to a robots.txt (RFC 9309 section 2.3.1.2).
  func limits(_ given: Limits) -> Limits {
    guard !isPicture else { return given }
    var limits = given
    limits.transferTimeout = min(given.transferTimeout, .seconds(30))
    limits.maxRedirects = 5
    return limits
  }
}
