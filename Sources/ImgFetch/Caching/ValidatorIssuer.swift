/// The URL that issued a response's validators. An entity tag tells apart the responses of one URL
/// (RFC 9110 section 8.8.3): an equal tag of another URL may be of another picture, so a validator
/// is sent only to the URL that issued it.
enum ValidatorIssuer: Hashable {
  /// The URL of the request.
  case requestURL
  /// A URL that a redirect led to.
  case redirectTarget(String)
  /// A URL that a redirect led to and that is not kept, see ``ParsedURL/issuerText``.
  case unnamed

  /// What is kept of it with a validator; `nil` for the URL of the request.
  var redirectTarget: String? {
    if case .redirectTarget(let url) = self { url } else { nil }
  }

  /// - Parameter issuer: what was kept with a validator; `nil` for the URL of the request.
  func `is`(_ issuer: String?) -> Bool {
    switch self {
    case .requestURL: issuer == nil
    case .redirectTarget(let url): issuer == url
    case .unnamed: false
    }
  }
}
