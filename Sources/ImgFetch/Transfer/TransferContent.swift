internal import ImgModel

/// What a transfer fetches.
enum TransferContent {
  case picture
  /// The same of any format: its facts may be told even where it cannot be decoded.
  case pictureOfAnyFormat
  /// The facts of a picture, from as few bytes as they take.
  case facts(FactsFetch)
  /// A short text such as a robots.txt, which is read up to a limit.
  case text(maximumByteCount: Int)

  var isPicture: Bool {
    switch self {
    case .picture, .pictureOfAnyFormat: true
    case .facts, .text: false
    }
  }

  /// Whether a failure by the first bytes ends the transfer.
  func isEnded(by failure: Failure) -> Bool {
    guard case .pictureOfAnyFormat = self else { return true }
    return failure.code == .notAnImage
  }

  var isText: Bool {
    if case .text = self { true } else { false }
  }

  var facts: FactsFetch? {
    if case .facts(let fetch) = self { fetch } else { nil }
  }

  func maximumByteCount(_ limits: Limits) -> Int {
    switch self {
    case .picture, .pictureOfAnyFormat, .facts: Int(limits.maxBodyByteCount)
    case .text(let maximumByteCount): maximumByteCount
    }
  }

  /// A picture waits for a text, so a text has half a minute at most. Five redirects are followed
  /// to a robots.txt (RFC 9309 section 2.3.1.2).
  func limits(_ given: Limits) -> Limits {
    guard isText else { return given }
    var limits = given
    limits.transferTimeout = min(given.transferTimeout, .seconds(30))
    limits.maxRedirects = 5
    return limits
  }
}
