internal import ImgModel

/// What a transfer is to bring, and with what it is asked for.
struct TransferRequest {
  /// The host that is asked, see ``ImageURL/host``.
  var host: String
  var content = TransferContent.picture
  var options = FetchOptions.standard
  /// What the URL that issued its validators is asked with, wherever a redirect leads there.
  var start = TransferStart.zero()
  var past = TransferPast()
  /// Whether it is sent on a connection that no request was sent on before.
  var usesFreshConnection = false

  /// What a URL is called as the issuer of validators, when this request is sent to it.
  func issuer(_ url: ParsedURL) -> ValidatorIssuer {
    guard past.isRedirected else { return .requestURL }
    return url.issuerText.map(ValidatorIssuer.redirectTarget) ?? .unnamed
  }

  /// What is sent with it; `nil` for no more than every request sends.
  ///
  /// - Parameter start: what the URL is asked with.
  func headers(with start: TransferStart) throws(CurlError) -> RequestHeaders? {
    let conditions: [String] =
      switch start {
      case .zero(let validators): validators.map { [$0.condition] } ?? []
      case .beginning(let beginning):
        beginning.mark.requestFields(from: beginning.content.byteCount)
      case .anew: []
      }
    // Caches on the way are to ask the origin, too (RFC 9111 section 5.2.1.4).
    let directives = options.cachePolicy == .reload ? ["Cache-Control: no-cache"] : []
    guard !options.headers.isEmpty || !conditions.isEmpty || !directives.isEmpty else { return nil }
    return try RequestHeaders(options.headers, conditions: conditions + directives)
  }
}

/// What went before a transfer that is one of several for the same request: what is left of the
/// limits goes on.
struct TransferPast {
  /// When the first of them began, or the time began to count.
  var begunAt = ContinuousClock.now
  /// Redirects that were followed.
  var redirectCount = 0
  /// Bytes of the heads of all answers.
  var headByteCount = 0
  /// Bytes of all bodies, but for those that the transfer goes on from.
  var bodyByteCount = 0
  /// Of those, bytes of a body that the request was to go on from and has not.
  var resumedByteCount = 0
  /// What they took, all together.
  var timings = Timings()

  var isRedirected: Bool { redirectCount > 0 }
}

/// What a transfer is to bring.
enum TransferContent {
  case picture
  /// A short text such as a robots.txt, of which the beginning will do.
  case text(maximumByteCount: Int)
}

extension TransferContent {
  func maximumByteCount(_ limits: Limits) -> Int {
    switch self {
    case .picture: Int(limits.maxBodyByteCount)
    case .text(let maximumByteCount): maximumByteCount
    }
  }

  /// Somebody's picture waits for a text, so that has half a minute at most; five redirects are as
  /// many as are to be followed to a robots.txt (RFC 9309 section 2.3.1.2).
  func limits(_ given: Limits) -> Limits {
    guard case .text = self else { return given }
    var limits = given
    limits.transferTimeoutMilliseconds = min(given.transferTimeoutMilliseconds, 30_000)
    limits.maxRedirects = 5
    return limits
  }
}
