internal import CCurl
internal import Glibc
internal import ImgFacts
internal import ImgModel
internal import ImgSystem

/// What a transfer fetches, and what it sends for that.
struct TransferRequest {
  /// What is asked for.
  private(set) var url: TransferURL
  /// The origins of its host that redirects have led through, see ``ImageURL/origin``; the last one is asked.
  private(set) var origins: [String]
  private(set) var content: TransferContent
  private(set) var options: FetchOptions
  /// The client's header fields for the URL.
  private var headers: HeaderFields
  /// The origin that the client's URL has; `nil` before a redirect.
  private var ownOrigin: [String]?
  /// What the request starts from, at the URL that issued its validators, wherever a redirect leads
  /// there.
  private(set) var start: TransferStart
  var history: TransferHistory
  /// Of all transfers for the request; `nil` before the first.
  private(set) var cookieJar: CookieJar?
  /// Whether it is sent on a connection that no request was sent on before.
  private(set) var usesFreshConnection = false

  /// - Throws: a ``Failure`` of stage `fetch` when libcurl's parser refuses the URL.
  init(
    for url: ImageURL, content: TransferContent = .picture, options: FetchOptions = .standard,
    start: TransferStart = .whole(), history: TransferHistory = TransferHistory()
  ) throws(Failure) {
    self.url = try TransferURL(url)
    origins = [url.origin]
    self.content = content
    self.options = options
    headers = options.headers(for: url)
    self.start = start
    self.history = history
  }

  /// The host that is asked, see ``ImageURL/host``.
  var host: String { url.image.host }

  /// The origin that is asked.
  var origin: String { url.image.origin }

  /// The name of the URL as the issuer of validators.
  var issuer: ValidatorIssuer {
    guard history.isRedirected else { return .requestURL }
    return url.parsed.issuerText.map(ValidatorIssuer.redirectTarget) ?? .unnamed
  }

  /// How long the transfers for it may still take.
  func remainingTime(_ limits: Limits) -> Duration {
    content.limits(limits).transferTimeout + history.heldTime - (.now - history.begunAt)
  }

  /// The header fields that are sent with it; `nil` for no more than every request sends.
  ///
  /// - Parameter start: what the URL is asked with.
  func headers(with start: TransferStart) throws(CurlError) -> RequestHeaders? {
    // Caches on the way ask the origin, too (RFC 9111 section 5.2.1.4).
    let directives = options.cachePolicy == .reload ? ["Cache-Control: no-cache"] : []
    let lines = start.requestFields + (content.facts?.requestFields ?? []) + directives
    guard !headers.isEmpty || !lines.isEmpty else { return nil }
    return try RequestHeaders(headers, conditions: lines)
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

  /// The same request once more.
  ///
  /// - Parameter history: what went before.
  func repeated(after history: TransferHistory) -> TransferRequest {
    next(after: history) { _ in }
  }

  private func next(
    after history: TransferHistory, _ change: (inout TransferRequest) -> Void
  ) -> TransferRequest {
    var next = self
    next.history = history
    change(&next)
    return next
  }

  /// The request to where a redirect leads. The client's header fields do not go to another origin, nor
  /// back from there; those of the URL's host go back.
  func redirected(to target: TransferURL, after history: TransferHistory) -> TransferRequest {
    next(after: history) { next in
      next.history.redirectCount += 1
      if !history.isRedirected { next.ownOrigin = url.parsed.origin }
      let origin = target.parsed.origin
      if origin == nil || origin != url.parsed.origin { next.options = options.forOtherOrigin }
      if host != target.image.host { next.origins = [] }
      next.origins = next.origins.filter { $0 != target.image.origin } + [target.image.origin]
      next.headers = next.options.headers(
        for: target.image, isOwnOrigin: origin != nil && origin == next.ownOrigin)
      next.usesFreshConnection = false
      next.url = target
    }
  }

  /// The request for the whole body, after the origin did not resume the partial one.
  ///
  /// - Parameter resumedByteCount: what the origin has sent for the partial body.
  func restarted(
    after history: TransferHistory, resumedByteCount: Int
  ) -> TransferRequest {
    next(after: history) { next in
      next.start = .restart
      next.history.bodyByteCount += resumedByteCount
      next.history.resumedByteCount += resumedByteCount
    }
  }

  /// The request for the next part of a file whose facts are read.
  func continued(with fetch: FactsFetch, after history: TransferHistory) -> TransferRequest {
    next(after: history) { next in
      next.content = .facts(fetch)
      next.start = .whole()
      next.usesFreshConnection = false
    }
  }

  /// The request for all of a file whose facts take a decoder.
  func continuedAsWhole(after history: TransferHistory) -> TransferRequest {
    next(after: history) { next in
      next.content = .pictureForFacts
      next.start = .whole()
      next.usesFreshConnection = false
    }
  }

  /// The same request without its condition.
  func unconditional(after history: TransferHistory) -> TransferRequest {
    next(after: history) { $0.start = .whole() }
  }

  /// The same request on a connection of its own.
  func onFreshConnection(after history: TransferHistory) -> TransferRequest {
    next(after: history) { $0.usesFreshConnection = true }
  }
}

/// The sockets that libcurl opened for one transfer, and what the address policy said of its host's
/// addresses.
struct ConnectionAttempt {
  /// Empty when the transfer was given a connection that was used before.
  private(set) var sockets: [CInt] = []
  /// The last address that was refused, with the reason.
  private(set) var refusedAddress: String?
  private var hasPermittedAddress = false

  /// Whether the transfer has a connection that was used before.
  var isReused: Bool { sockets.isEmpty }

  /// Why no address of the host may be connected to; `nil` when one may, or none was tried.
  var blockedAddress: String? { hasPermittedAddress ? nil : refusedAddress }

  /// Whether the policy permits an address.
  @discardableResult
  mutating func check(
    _ address: UnsafeMutablePointer<curl_sockaddr>, by policy: AddressPolicy
  ) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16)
    bytes.removeLast(bytes.count - Int(unsafe curl_sockaddr_address(address, &bytes)))
    guard let refusal = policy.refusal(of: bytes) else {
      hasPermittedAddress = true
      return true
    }
    let (text, network) = (IPAddress.text(bytes), IPAddress.text(refusal.address))
    refusedAddress =
      "\(text ?? "the address") is refused: \(refusal.reason); to permit it: imgctl stop && imgctl start "
      + "--allow-network \(network ?? "CIDR"), beside the networks that imgctl config show lists"
    return false
  }

  /// Opens a socket. libcurl connects it to this very address next, so an answer of the name servers
  /// that changes after ``check(_:by:)`` makes no difference.
  mutating func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    let type = unsafe address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
    let socket = unsafe Glibc.socket(address.pointee.family, type, address.pointee.protocol)
    sockets.append(socket)
    return socket
  }
}

/// What a transfer fetches.
enum TransferContent {
  case picture
  /// The same of any format: its facts may be told even where it cannot be decoded.
  case pictureOfAnyFormat
  /// The same for facts that only a decoder can tell, after ``facts(_:)``.
  case pictureForFacts
  /// The facts of a picture, from as few bytes as they take.
  case facts(FactsFetch)
  /// A list of URLs, which is read whole.
  case list
  /// A short text such as a robots.txt, which is read up to a limit.
  case text(maximumByteCount: Int)

  init(_ part: PicturePart) {
    self =
      switch part {
      case .whole: .picture
      case .wholeOfAnyFormat: .pictureOfAnyFormat
      case .facts: .facts(FactsFetch(.metadata))
      case .allFacts: .facts(FactsFetch(.all))
      }
  }

  /// Whether all bytes come in, as far as the limit of a body and the budgets have room for them.
  var isWhole: Bool {
    switch self {
    case .picture, .pictureOfAnyFormat, .pictureForFacts, .list: true
    case .facts, .text: false
    }
  }

  /// Whether its redirects are followed at once. Those of a picture are decided on first.
  var isRedirectedFreely: Bool {
    switch self {
    case .list, .text: true
    case .picture, .pictureOfAnyFormat, .pictureForFacts, .facts: false
    }
  }

  /// Whether a failure by the first bytes ends the transfer.
  func isEnded(by failure: Failure) -> Bool {
    switch self {
    case .pictureOfAnyFormat, .pictureForFacts: failure.code == .notAnImage
    case .picture, .facts, .list, .text: true
    }
  }

  /// Whether a later transfer of the request goes on where this one ends. One for facts begins with a
  /// part.
  var isResumable: Bool {
    switch self {
    case .picture, .pictureOfAnyFormat: true
    case .pictureForFacts, .facts, .list, .text: false
    }
  }

  /// Whether it is a robots.txt: short, and pictures wait for it. So limits of bandwidth count it without holding it.
  var isText: Bool {
    if case .text = self { true } else { false }
  }

  var isList: Bool {
    if case .list = self { true } else { false }
  }

  var facts: FactsFetch? {
    if case .facts(let fetch) = self { fetch } else { nil }
  }

  func maximumByteCount(_ limits: Limits) -> Int {
    switch self {
    case .picture, .pictureOfAnyFormat, .pictureForFacts, .facts, .list:
      Int(limits.maxBodyByteCount)
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

/// What went before a transfer that is one of several for the same request. The limits of the
/// request count all of them.
struct TransferHistory {
  /// When the first of them began, or the time began to count.
  var begunAt = ContinuousClock.now
  /// For how long the limits of bandwidth held them.
  var heldTime = Duration.zero
  /// Redirects that were followed.
  var redirectCount = 0
  /// Bytes of the heads of all responses.
  var headByteCount = 0
  /// Bytes of all bodies, but for those of the partial body that the transfer starts from.
  var bodyByteCount = 0
  /// Of those, bytes of a partial body that the origin did not resume.
  var resumedByteCount = 0
  /// What the parts of all of them took together.
  var timings = Timings()

  var isRedirected: Bool { redirectCount > 0 }
}
