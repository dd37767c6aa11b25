internal import CCurl
internal import ImgModel
internal import ImgSystem

/// How a transfer reaches the host of its URL.
enum Route {
  case direct
  /// Nothing is sent. The name is looked up here before a proxy gets it, see ``ProxyRoutes``.
  case nameCheck
  case proxy(ProxyURL)

  var proxy: ProxyURL? {
    if case .proxy(let proxy) = self { proxy } else { nil }
  }

  var isNameCheck: Bool {
    if case .nameCheck = self { true } else { false }
  }
}

/// Chooses between the proxies and the direct way.
///
/// With a proxy, the address policy cannot check the address that is connected to: that is the
/// proxy's. Therefore the host is looked up here first. If one of its addresses is refused, so is the
/// URL, and the proxy is not asked. A name that has no address here is the proxy's to resolve: many
/// networks with a proxy know no names of the internet.
final class ProxyRoutes {
  private let settings: ProxySettings
  private let directHosts: DirectHosts
  /// Until when the addresses of a host need not be checked again.
  private var checkedHosts: [String: ContinuousClock.Instant] = [:]

  /// As long as libcurl keeps an answer of name servers (CURLOPT_DNS_CACHE_TIMEOUT(3)).
  private static let checkLifetime = Duration.seconds(60)
  /// The others are forgotten when there are more.
  private static let maximumCheckedHostCount = 4_096
  /// How long a look-up may take. A name that takes longer counts as one without an address here:
  /// one server of resolv.conf(5) is waited for so long.
  static let checkTimeout = Duration.seconds(5)

  init(_ settings: ProxySettings) {
    self.settings = settings
    directHosts = DirectHosts(settings.directHosts)
  }

  func route(to url: TransferURL, at now: ContinuousClock.Instant) -> Route {
    let host = url.image.host
    let proxy = url.parsed.scheme == "https" ? settings.https : settings.http
    guard let proxy, !directHosts.contains(host, port: url.parsed.port) else { return .direct }
    return checkedHosts[host].map { $0 > now } == true ? .proxy(proxy) : .nameCheck
  }

  /// No address of the host is refused.
  func recordCheck(of host: String, at now: ContinuousClock.Instant) {
    if checkedHosts.count >= Self.maximumCheckedHostCount {
      checkedHosts = checkedHosts.filter { $0.value > now }
    }
    if checkedHosts.count >= Self.maximumCheckedHostCount { checkedHosts = [:] }
    checkedHosts[host] = now + Self.checkLifetime
  }
}

/// The hosts that are asked without a proxy, matched as libcurl 7.88 matches NO_PROXY
/// (Curl_check_noproxy in its noproxy.c), and with the ports and the `*.` that other programs read.
struct DirectHosts {
  private struct Entry<Value> {
    let value: Value
    /// `nil` for all ports.
    let port: Int?

    func permits(_ other: Int) -> Bool { port.map { $0 == other } ?? true }
  }

  private var includesAll = false
  /// In lower case and without dots at their ends.
  private var names: [Entry<String>] = []
  private var networks: [Entry<NetworkRange>] = []

  init(_ entries: [String]) {
    if entries == ["*"] { includesAll = true }
    for entry in entries {
      let (text, port) = Self.parts(of: entry)
      if let network = Self.network(text) {
        networks.append(Entry(value: network, port: port))
      } else {
        names.append(Entry(value: Self.name(text.lowercased()), port: port))
      }
    }
  }

  /// - Parameter host: see ``ImageURL/host``.
  func contains(_ host: String, port: Int) -> Bool {
    if includesAll { return true }
    if let address = Self.address(host) {
      return networks.contains { $0.permits(port) && $0.value.contains(address) }
    }
    return names.contains { name in
      name.permits(port)
        && (host == name.value || !name.value.isEmpty && host.hasSuffix(".\(name.value)"))
    }
  }

  /// A host and its port, as in `example.org:8080` or `[::1]:8080`. An IPv6 address without brackets has no port.
  private static func parts(of entry: String) -> (host: String, port: Int?) {
    guard let colon = entry.lastIndex(of: ":"),
      let port = UInt16(entry[entry.index(after: colon)...])
    else { return (entry, nil) }
    let host = entry[..<colon]
    guard host.hasSuffix("]") || !host.contains(":") else { return (entry, nil) }
    return (String(host), Int(port))
  }

  /// `nil` for what is neither an address nor a block of addresses.
  private static func network(_ entry: String) -> NetworkRange? {
    let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let bytes = address(String(parts[0])) else { return nil }
    guard parts.count == 2 else {
      return NetworkRange(bytes: bytes, prefixLength: bytes.count * 8)
    }
    return Int(parts[1]).flatMap { NetworkRange(bytes: bytes, prefixLength: $0) }
  }

  /// An IPv6 address may have brackets.
  private static func address(_ text: String) -> [UInt8]? {
    let isLiteral = text.hasPrefix("[") && text.hasSuffix("]")
    return IPAddress.bytes(parsing: isLiteral ? String(text.dropFirst().dropLast()) : text)
  }

  /// A dot before a name, or an asterisk and a dot, means nothing, and one after it makes it fully qualified.
  private static func name(_ entry: String) -> String {
    let prefix = ["*.", "."].first(where: entry.hasPrefix) ?? ""
    let bare = entry.dropFirst(prefix.count)
    return String(bare.hasSuffix(".") ? bare.dropLast() : bare)
  }
}

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
    if wantsCredentials { return failure(.proxyFailure, credentialsText) }
    if failsTLS { return failure(.proxyFailure, certificateText) }
    switch code {
    case CURLE_OK: return nil
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT: return unreachedFailure
    case CURLE_PROXY: return socksFailure
    case CURLE_OPERATION_TIMEDOUT: return isConnected ? nil : unreachedFailure
    default: break
    }
    guard proxy.isHTTP, status == nil else { return nil }
    if isTunnelled { return hasTunnel ? nil : tunnelFailure }
    // Without a tunnel there is no other connection than that to the proxy.
    let code = code.failureCode(isAnswered: false, words: words)
    return [.connectFailure, .tlsFailure].contains(code) ? failure(.proxyFailure, words) : nil
  }

  /// What it says of the network that the proxy failed. One that is not reached or not trusted, or lets
  /// nothing through without other credentials, is like a missing route.
  var sign: NetworkSign? {
    wantsCredentials || failsTLS || !isConnected ? .unrouted : nil
  }

  private var unreachedFailure: Failure {
    failure(
      .proxyFailure, "\(words); for another one: imgctl stop && imgctl start --proxy URL")
  }

  private var credentialsText: String {
    "it asks for \(proxy.hasCredentials ? "other " : "")credentials (\(proxy.isHTTP ? "407" : words)); to give "
      + "them: imgctl stop && imgctl start with user and password in the URL of IMGCTL_PROXY"
  }

  private var certificateText: String {
    code == CURLE_PEER_FAILED_VERIFICATION
      ? "\(words); to trust its authority: imgctl stop && imgctl start --ca-file FILE" : words
  }

  /// Whether the proxy asks for other credentials than it was given.
  private var wantsCredentials: Bool {
    guard proxy.isHTTP else {
      let reply = CURLproxycode(UInt32(max(socksReply, 0)))
      return code == CURLE_PROXY && [CURLPX_NO_AUTH, CURLPX_USER_REJECTED].contains(reply)
    }
    return connectStatus == 407 || status == 407 && !isTunnelled
  }

  /// Whether there is no TLS connection to the proxy itself.
  private var failsTLS: Bool {
    proxy.scheme == .https && status == nil && connectStatus == 0
      && code.failureCode(isAnswered: false) == .tlsFailure
  }

  private var isTunnelled: Bool { scheme == "https" }

  private var hasTunnel: Bool { (200..<300).contains(connectStatus) }

  private var tunnelFailure: Failure {
    switch connectStatus {
    case 0: failure(.proxyFailure, words)
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
  var proxyFailure: Failure? { proxyEnd?.failure }

  /// `nil` if there was no proxy.
  var proxyEnd: ProxyEnd? {
    guard let proxy = route.proxy else { return nil }
    return ProxyEnd(
      proxy: proxy, scheme: url.scheme, status: reader.status, code: code,
      connectStatus: easy.count(CURLINFO_HTTP_CONNECTCODE),
      socksReply: easy.count(CURLINFO_PROXY_ERROR),
      // CURLINFO_CONNECT_TIME_T counts to the end of a tunnel, which is the origin's to delay.
      isConnected: easy.count(CURLINFO_LOCAL_PORT) != 0,
      words: code.words(easy.errorText))
  }
}
