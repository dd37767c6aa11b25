internal import CCurl
internal import ImgModel
internal import ImgSystem

/// One transfer under way: its handle and what came in.
///
/// The handle's callbacks point at this object, so the pool keeps it until the handle has left the
/// multi handle.
final class Transfer {
  let id: UInt64
  let easy: EasyHandle
  let url: ParsedURL
  private let headers: RequestHeaders
  let settings: TransferSettings
  let request: TransferRequest
  /// What the URL is asked with.
  let start: TransferStart
  /// When it began, and when the first line of the answer under way came.
  let requestedAt = WallTime(rawValue: WallClock.milliseconds())
  var answeredAt = WallTime.distantPast
  /// Those that were opened for it; none when it was given a connection that was used before.
  var openedSockets: [CInt] = []
  /// Whether it was ended before its request was sent, because bytes had come on its connection.
  var isConnectionSpoilt = false
  /// Whether it was ended because the host wants to be left alone.
  var isHeldBack = false

  var resumption: Resumption
  /// Bytes of bodies that the origin sent before this transfer, in those that it goes on from.
  let earlierByteCount: Int
  /// Whether the answer is neither the rest of the body nor all of it: what is asked for anew.
  var isAnswerUseless = false
  /// Of the answer under way; interim answers come before the last one.
  var head = ResponseHead()
  var body: BodyBuffer
  /// Bytes of the heads of all answers, those of redirects and interim ones among them.
  var headByteCount: Int
  /// Bytes of the body that libcurl handed over, kept or not.
  var bytesReceived = 0
  /// Whether a body passed the limit, which ended the transfer.
  var isOverLimit = false
  /// Until when a body that nobody wants may come in; `nil` for one that is wanted.
  var unusedBodyDeadline: ContinuousClock.Instant?
  /// How often it had its part of a turn of the loop for next to nothing.
  var wastedTurnCount = 0
  /// Why the body could not be written to its file, which ended the transfer.
  var spoolError: SystemError?
  /// Whether the first bytes of the body were judged, and what they were refused for.
  var isScreened = false
  var refusal: Failure?
  /// The addresses of the host: the last one refused, with the reason, and whether any was
  /// permitted.
  var refusedAddress: String?
  var hasPermittedAddress = false

  /// - Parameters:
  ///   - start: what of the request's the URL is asked with.
  ///   - easy: a fresh or reset handle.
  init(
    id: UInt64, url: ParsedURL, request: TransferRequest, start: TransferStart, easy: EasyHandle,
    settings: TransferSettings
  ) throws(CurlError) {
    self.id = id
    self.easy = easy
    self.url = url
    self.settings = settings
    self.request = request
    self.start = start
    let maximumByteCount = request.content.maximumByteCount(settings.limits)
    resumption = start.resumption
    earlierByteCount = start.earlierByteCount + request.past.bodyByteCount
    headByteCount = request.past.headByteCount
    if case .beginning(let beginning) = start {
      body = BodyBuffer(beginning.content, maximumByteCount: maximumByteCount)
    } else {
      body = BodyBuffer(maximumByteCount: maximumByteCount)
    }
    headers = try request.headers(with: start) ?? settings.headers
    try configureRequest()
    try configureLimits()
    try installCallbacks()
  }

  /// What is sent, and to whom. Left as libcurl has them: no cookies, no .netrc, no redirects
  /// followed (``redirectTarget(after:)``), certificates are verified, no Accept-Encoding (images
  /// are compressed already).
  ///
  /// Without Accept-Encoding libcurl leaves a Content-Encoding undone, so a small body cannot
  /// become a large one: it is judged by its bytes as they came, and compressed ones are no image.
  /// A compressed Transfer-Encoding is undone unasked, so it is refused (``BodyFraming``). Texts are
  /// taken compressed, because some origins send them in no other way.
  private func configureRequest() throws(CurlError) {
    try easy.set(url)
    try easy.set(headers)
    try easy.set(CURLOPT_USERAGENT, settings.userAgent)
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // The empty name is libcurl's for "no proxy, whatever the environment says". Through a proxy,
    // the address guard would judge the proxy's address.
    try easy.set(CURLOPT_PROXY, "")
    try easy.set(CURLOPT_NOSIGNAL, 1)
    if case .text = request.content { try easy.set(CURLOPT_ACCEPT_ENCODING, "gzip") }
    try easy.set(CURLOPT_FRESH_CONNECT, request.usesFreshConnection ? 1 : 0)
    // In HTTP/2 libcurl 7.88 reads frames without content, such as empty DATA frames, in a loop that
    // ends only when nothing more comes (cf_h2_recv in its http2.c). Nothing leads out of it, not even
    // the transfer's time limit. A connection serves one transfer at a time here, so that HTTP/2 would
    // save nothing but bytes of heads.
    try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    if let file = settings.authorityFile { try easy.set(CURLOPT_CAINFO, file) }
    // A look-up runs in a thread of its own. Without this, libcurl waits for that thread to end
    // when a transfer is cancelled or times out, and with it waits the whole loop.
    try easy.set(CURLOPT_QUICK_EXIT, 1)
  }

  private func configureLimits() throws(CurlError) {
    let limits = request.content.limits(settings.limits)
    try easy.set(
      CURLOPT_CONNECTTIMEOUT_MS, Self.positive(limits.connectTimeoutMilliseconds))
    let spentMilliseconds = Int64((.now - request.past.begunAt) / .milliseconds(1))
    try easy.set(
      CURLOPT_TIMEOUT_MS, Self.positive(limits.transferTimeoutMilliseconds - spentMilliseconds))
    // libcurl counts a stall in whole seconds, and none while a transfer is paused.
    try easy.set(CURLOPT_LOW_SPEED_LIMIT, 1_024)
    try easy.set(
      CURLOPT_LOW_SPEED_TIME, (Self.positive(limits.stallTimeoutMilliseconds) + 999) / 1_000)
    // Refuses by Content-Length alone; the callbacks hold the limit where none is declared.
    if case .picture = request.content {
      try easy.setLarge(CURLOPT_MAXFILESIZE_LARGE, limits.maxBodyByteCount)
    }
  }

  /// In the range libcurl takes, in which 0 would mean "no limit".
  private static func positive(_ value: Int64) -> Int {
    Int(min(max(value, 1), Int64(Int32.max)))
  }
}
