internal import CCurl
internal import ImgModel

/// What a transfer tells of its proxy after its end, as far as libcurl 7.88 lets it be told from the
/// origin.
struct ProxyEnd {
  let proxy: ProxyURL
  /// Of the URL.
  let scheme: String?
  /// Of the response, which may be the proxy's own to a request that was not sent through a tunnel.
  let status: Int?
  let code: CURLcode
  /// Of the answer to CONNECT; 0 without one.
  let connectStatus: Int
  /// The reply of a SOCKS proxy (CURLINFO_PROXY_ERROR(3)).
  let socksReply: Int
  /// Whether a connection to the proxy was established.
  let isConnected: Bool
  let words: String

  /// The failure of the proxy; `nil` if the proxy did not fail.
  ///
  /// A proxy that could not reach the origin, and says so, has not failed: 502 and 504 for CONNECT
  /// (RFC 9110 sections 15.6.3 and 15.6.5), and the replies of SOCKS (RFC 1928 section 6).
  var failure: Failure? {
    if status == 407, !isTunnelled, proxy.isHTTP {
      return failure(.proxyFailure, "it asks for other credentials (407)")
    }
    switch code {
    case CURLE_OK: return nil
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT: return failure(.proxyFailure, words)
    case CURLE_PROXY: return socksFailure
    case CURLE_OPERATION_TIMEDOUT: return isConnected ? nil : failure(.proxyFailure, words)
    default: break
    }
    guard proxy.isHTTP, status == nil else { return nil }
    if isTunnelled { return hasTunnel ? nil : tunnelFailure }
    // Without a tunnel there is no other connection than that to the proxy.
    let code = code.failureCode(isAnswered: false, words: words)
    return [.connectFailure, .tlsFailure].contains(code) ? failure(.proxyFailure, words) : nil
  }

  private var isTunnelled: Bool { scheme == "https" }

  private var hasTunnel: Bool { (200..<300).contains(connectStatus) }

  private var tunnelFailure: Failure {
    switch connectStatus {
    case 0: failure(.proxyFailure, words)
    case 407: failure(.proxyFailure, "it asks for other credentials (407)")
    case 502, 504: failure(.connectFailure, "it cannot reach the origin (\(connectStatus))")
    default: failure(.proxyFailure, "it answered CONNECT with \(connectStatus)")
    }
  }

  private var socksFailure: Failure {
    switch CURLproxycode(UInt32(max(socksReply, 0))) {
    case CURLPX_RESOLVE_HOST: failure(.dnsFailure, words)
    case CURLPX_REPLY_NETWORK_UNREACHABLE, CURLPX_REPLY_HOST_UNREACHABLE,
      CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_TTL_EXPIRED:
      failure(.connectFailure, words)
    default: failure(.proxyFailure, words)
    }
  }

  private func failure(_ code: Failure.Code, _ words: String) -> Failure {
    Failure(
      stage: .fetch, code: code, detail: "the proxy \(proxy.withoutCredentials.text): \(words)")
  }
}

extension LibcurlEnd {
  /// See ``ProxyEnd/failure``.
  var proxyFailure: Failure? {
    guard let proxy = route.proxy else { return nil }
    return ProxyEnd(
      proxy: proxy, scheme: url.scheme, status: reader.status, code: code,
      connectStatus: easy.count(CURLINFO_HTTP_CONNECTCODE),
      socksReply: easy.count(CURLINFO_PROXY_ERROR),
      isConnected: easy.number(CURLINFO_CONNECT_TIME_T).map { $0 > 0 } ?? false,
      words: easy.errorText ?? code.text
    ).failure
  }
}
