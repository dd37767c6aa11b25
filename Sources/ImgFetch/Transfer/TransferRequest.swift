internal import ImgModel

/// What a transfer fetches, and what it sends for that.
struct TransferRequest {
  /// The host that is asked, see ``ImageURL/host``.
  var host: String
  var content = TransferContent.picture
  var options = FetchOptions.standard
  /// What the request starts from, at the URL that issued its validators, wherever a redirect leads
  /// there.
  var start = TransferStart.whole()
  var history = TransferHistory()
  /// Of all transfers for the request; `nil` before the first.
  private(set) var cookieJar: CookieJar?
  /// Whether it is sent on a connection that no request was sent on before.
  var usesFreshConnection = false

  /// The name of a URL as the issuer of validators, when this request is sent to it.
  func issuer(_ url: ParsedURL) -> ValidatorIssuer {
    guard history.isRedirected else { return .requestURL }
    return url.issuerText.map(ValidatorIssuer.redirectTarget) ?? .unnamed
  }

  /// The header fields that are sent with it; `nil` for no more than every request sends.
  ///
  /// - Parameter start: what the URL is asked with.
  func headers(with start: TransferStart) throws(CurlError) -> RequestHeaders? {
    // Caches on the way ask the origin, too (RFC 9111 section 5.2.1.4).
    let directives = options.cachePolicy == .reload ? ["Cache-Control: no-cache"] : []
    let lines = start.requestFields + (content.facts?.requestFields ?? []) + directives
    guard !options.headers.isEmpty || !lines.isEmpty else { return nil }
    return try RequestHeaders(options.headers, conditions: lines)
  }

  /// The request with the jar that all transfers for it share.
  func withCookieJar() throws(CurlError) -> TransferRequest {
    guard cookieJar == nil else { return self }
    var request = self
    request.cookieJar = try CookieJar(options.cookies)
    return request
  }

  /// Why the body behind a head is not fetched; `nil` when it is.
  func rejection(of head: ResponseHead) -> Failure? {
    if let problem = head.framing.problem {
      return Failure(
        stage: .fetch, code: .invalidResponse, httpStatus: head.status,
        isRetryable: !problem.isLasting, detail: problem.detail)
    }
    if head.isSuccess, let problem = head.codings.problem {
      return Failure(
        stage: .fetch, code: .invalidResponse, httpStatus: head.status, isRetryable: false,
        detail: problem)
    }
    return options.respectsOptOut ? head.optOutFailure : nil
  }

  // MARK: - The next transfer for the same request

  /// The request to where a redirect leads. The client's header fields do not go to another origin
  /// (RFC 9110 section 15.4).
  ///
  /// - Parameters:
  ///   - url: where the redirect came from.
  ///   - history: what went before.
  func redirected(
    to target: RedirectTarget, from url: ParsedURL, after history: TransferHistory
  ) -> TransferRequest {
    var next = self
    next.history = history
    next.history.redirectCount += 1
    if target.parsedURL.origin == nil || target.parsedURL.origin != url.origin {
      next.options.headers = .none
    }
    next.host = target.url.host
    next.usesFreshConnection = false
    return next
  }

  /// The request for the whole body, after the origin did not resume the partial one.
  ///
  /// - Parameter resumedByteCount: what the origin has sent for the partial body.
  func restarted(
    after history: TransferHistory, resumedByteCount: Int
  ) -> TransferRequest {
    var next = self
    next.start = .restart
    next.history = history
    next.history.bodyByteCount += resumedByteCount
    next.history.resumedByteCount += resumedByteCount
    return next
  }

  /// The request for the next part of a file whose facts are read.
  func continued(with fetch: FactsFetch, after history: TransferHistory) -> TransferRequest {
    var next = self
    next.content = .facts(fetch)
    next.start = .whole()
    next.history = history
    next.usesFreshConnection = false
    return next
  }

  /// The same request without its condition.
  func unconditional(after history: TransferHistory) -> TransferRequest {
    var next = self
    next.start = .whole()
    next.history = history
    return next
  }

  /// The same request on a connection of its own.
  func onFreshConnection(after history: TransferHistory) -> TransferRequest {
    var next = self
    next.usesFreshConnection = true
    next.history = history
    return next
  }
}
