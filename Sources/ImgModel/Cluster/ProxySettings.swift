/// The proxies through which workers fetch, and the hosts that they ask directly.
package struct ProxySettings: Hashable, Sendable, Codable {
  /// The proxy for `http:` URLs; `nil` if the origins are asked directly.
  package let http: ProxyURL?
  /// The same for `https:` URLs.
  package let https: ProxyURL?
  /// The hosts that are asked directly, as curl(1) reads them in `NO_PROXY`: names, which stand for
  /// all names below them, too, addresses, and blocks of addresses; `*` alone stands for all hosts.
  package let directHosts: [String]

  package static let maximumDirectHostCount = 1_024

  /// Every origin is asked directly.
  package static let none = ProxySettings(http: nil, https: nil, directHosts: [])

  package init(http: ProxyURL?, https: ProxyURL?, directHosts: [String]) {
    self.http = http
    self.https = https
    self.directHosts = directHosts
  }

  package var isEmpty: Bool { http == nil && https == nil }

  /// The settings for people, see ``ProxyURL/withoutCredentials``.
  package var withoutCredentials: ProxySettings {
    ProxySettings(
      http: http?.withoutCredentials, https: https?.withoutCredentials, directHosts: directHosts)
  }

  /// The settings with the passwords that others know.
  ///
  /// - Parameter others: settings that may name the same proxies.
  /// - Returns: `nil` if a proxy has a password that the others do not know.
  package func withCredentials(of others: ProxySettings) -> ProxySettings? {
    guard let http = Self.complete(http, others.http),
      let https = Self.complete(https, others.https)
    else { return nil }
    return ProxySettings(http: http, https: https, directHosts: directHosts)
  }

  private static func complete(_ proxy: ProxyURL?, _ other: ProxyURL?) -> ProxyURL?? {
    guard let proxy, proxy.hasCredentials else { return .some(proxy) }
    guard let other, other.withoutCredentials == proxy.withoutCredentials else { return .none }
    return other
  }

  private enum CodingKeys: String, CodingKey {
    case http, https
    case directHosts = "no_proxy"
  }
}
