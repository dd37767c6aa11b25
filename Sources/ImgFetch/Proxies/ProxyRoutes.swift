internal import ImgModel

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

  func route(to url: ParsedURL, host: String, at now: ContinuousClock.Instant) -> Route {
    let proxy = url.scheme == "https" ? settings.https : settings.http
    guard let proxy, !directHosts.contains(host) else { return .direct }
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
