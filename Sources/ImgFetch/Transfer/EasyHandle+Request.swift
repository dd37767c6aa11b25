internal import CCurl
internal import ImgModel

extension EasyHandle {
  /// Sets what is sent, and to which URL. These defaults of libcurl stay: no .netrc, no redirects followed
  /// (``RedirectTarget``), certificates are verified, and a Content-Encoding is left as it is, because
  /// ``ContentDecoding`` undoes it. libcurl undoes a compressed Transfer-Encoding without being asked, so it
  /// is refused (``BodyFraming``).
  ///
  /// - Parameters:
  ///   - url: must outlive the transfer.
  ///   - headers: must outlive the transfer.
  func configure(
    _ request: TransferRequest, to url: ParsedURL, _ headers: RequestHeaders,
    in context: TransferContext
  ) throws(CurlError) {
    try set(url)
    try set(headers)
    if let jar = request.cookieJar { try set(jar) }
    try set(CURLOPT_USERAGENT, context.userAgent)
    try set(CURLOPT_PROTOCOLS_STR, "http,https")
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_FRESH_CONNECT, request.usesFreshConnection ? 1 : 0)
    // In HTTP/2 libcurl 7.88 reads frames without content, such as empty DATA frames, in a loop
    // that ends only when nothing more comes (cf_h2_recv in its http2.c), not even at the
    // transfer's time limit. A connection serves one transfer at a time here, so HTTP/2 would save
    // nothing but bytes of heads.
    try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    if let file = context.authorityFile {
      try set(CURLOPT_CAINFO, file)
      try set(CURLOPT_PROXY_CAINFO, file)
    }
    // A look-up runs in a thread of its own. Without this, libcurl waits for that thread to end
    // when a transfer is cancelled or times out, and with it the whole loop waits.
    try set(CURLOPT_QUICK_EXIT, 1)
    try configureLimits(of: request, in: context)
  }

  /// Sets how the host of the URL is reached. Call it after the request is set.
  func configure(_ route: Route, in context: TransferContext) throws(CurlError) {
    // The empty name is libcurl's for "no proxy, whatever the environment says", and the empty list
    // for "no host is asked directly".
    try set(CURLOPT_PROXY, route.proxy?.text ?? "")
    try set(CURLOPT_NOPROXY, "")
    switch route {
    case .direct: break
    case .nameCheck:
      try set(CURLOPT_FRESH_CONNECT, 1)
      let time = min(context.limits.connectTimeout, ProxyRoutes.checkTimeout)
      try set(CURLOPT_CONNECTTIMEOUT_MS, time.curlMilliseconds)
    // Otherwise the answer to CONNECT would pass for the origin's.
    case .proxy: try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }
  }

  private func configureLimits(
    of request: TransferRequest, in context: TransferContext
  ) throws(CurlError) {
    let limits = request.content.limits(context.limits)
    try set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectTimeout.curlMilliseconds)
    let remainingTime = request.remainingTime(context.limits)
    try set(CURLOPT_TIMEOUT_MS, remainingTime.curlMilliseconds)
    // libcurl counts a stall in whole seconds, and none while a transfer is paused.
    try set(CURLOPT_LOW_SPEED_LIMIT, 1_024)
    try set(CURLOPT_LOW_SPEED_TIME, limits.stallTimeout.curlSeconds)
    // Refuses by Content-Length alone; the callbacks hold the limit where none is declared.
    if request.content.isPicture {
      try setLarge(CURLOPT_MAXFILESIZE_LARGE, limits.maxBodyByteCount)
    }
  }
}
