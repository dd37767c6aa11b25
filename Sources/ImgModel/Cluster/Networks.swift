/// A CIDR block (RFC 4632, RFC 4291 section 2.3), such as `10.0.0.0/8` or `fd00::/8`. An address
/// without a prefix length is a block of one.
package struct NetworkRange: Hashable, Sendable {
  /// 4 or 16 bytes in network byte order. The bits after the prefix are zero.
  package let bytes: [UInt8]
  /// The number of significant bits.
  package let prefixLength: Int

  /// - Parameter bytes: an IPv4 (4) or IPv6 (16) address.
  /// - Returns: `nil` for another number of bytes, or if the prefix is longer than the address.
  package init?(bytes: [UInt8], prefixLength: Int) {
    guard [4, 16].contains(bytes.count), (0...bytes.count * 8).contains(prefixLength) else {
      return nil
    }
    self.prefixLength = prefixLength
    self.bytes = bytes.indices.map { index in
      let kept = min(max(prefixLength - index * 8, 0), 8)
      return bytes[index] & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
    }
  }

  /// The smallest block with all of these, which are of one family of addresses; `nil` for none.
  package static func smallest(with blocks: [NetworkRange]) -> NetworkRange? {
    guard let first = blocks.first else { return nil }
    var length = blocks.map(\.prefixLength).min() ?? 0
    while let wider = NetworkRange(bytes: first.bytes, prefixLength: length),
      !blocks.allSatisfy({ wider.contains($0.bytes) })
    {
      length -= 1
    }
    return NetworkRange(bytes: first.bytes, prefixLength: length)
  }

  /// Whether the block contains `address` (4 or 16 bytes in network byte order). An IPv6 block does
  /// not contain IPv4 addresses; callers convert `::ffff:0:0/96` to IPv4 first.
  package func contains(_ address: [UInt8]) -> Bool {
    NetworkRange(bytes: address, prefixLength: prefixLength)?.bytes == bytes
  }
}

extension NetworkRange: Fielded {
  /// Reads and validates with the checks of the initialiser.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let bytes = try f.field("bytes", value?.bytes)
    let prefixLength = try f.field("prefix", value?.prefixLength)
    guard let range = NetworkRange(bytes: bytes, prefixLength: prefixLength) else {
      throw f.invalid("prefix", "the value is not a CIDR block")
    }
    self = range
  }
}

/// The proxies through which workers fetch, and the hosts that they ask directly.
package struct ProxySettings: Hashable, Sendable, Fielded {
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

  /// Tells user and password from others, for a command that wants to know whether a coordinator has those that it was
  /// given: 16 bits of a hash, too few to guess a password by. `nil` without any.
  package var credentialsCheck: Int? {
    let texts = [http, https].map { $0.map { $0.hasCredentials ? $0.text : "" } ?? "" }
    guard texts.contains(where: { !$0.isEmpty }) else { return nil }
    // FNV-1a, folded.
    let hash = texts.joined(separator: " ").utf8.reduce(UInt32(0x811c_9dc5)) {
      ($0 ^ UInt32($1)) &* 0x0100_0193
    }
    return Int((hash >> 16) ^ (hash & 0xFFFF))
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    http = try f.optional("http", value?.http)
    https = try f.optional("https", value?.https)
    directHosts = try f.field("no_proxy", value?.directHosts)
  }
}

/// The address of a proxy, and how it is spoken to.
package struct ProxyURL: Hashable, Sendable {
  package enum Scheme: String, CaseIterable, Sendable {
    /// HTTP (RFC 9110 sections 7.6 and 9.3.6), on a plain connection or over TLS.
    case http, https
    /// SOCKS 5 (RFC 1928): the proxy resolves the names of origins, or the worker does.
    case socks5h, socks5

    /// The port of a URL without one, as curl(1) has it.
    fileprivate var standardPort: UInt16 { self == .https ? 443 : 1080 }
  }

  package let scheme: Scheme
  /// User and password with the `@` after them, percent-encoded; empty if there are none.
  private let credentials: String
  /// In ASCII and lower case; an IPv6 address has its brackets.
  package let host: String
  package let port: UInt16

  /// What ``withoutCredentials`` has in place of user and password.
  private static let hiddenCredentials = "***@"

  /// Reads a URL as curl(1) reads one. Without a scheme it is `http`.
  ///
  /// - Throws: ``InvalidProxy``, whose text does not contain the URL: it may have a password.
  package init(parsing text: String) throws(InvalidProxy) {
    let schemeEnd = text.firstRange(of: "://")
    let schemeText = schemeEnd.map { text[..<$0.lowerBound].lowercased() } ?? Scheme.http.rawValue
    guard let scheme = Scheme(rawValue: schemeText) else {
      throw InvalidProxy(
        "the scheme of a proxy is http, https, socks5h or socks5; SOCKS 4 has neither passwords nor "
          + "IPv6")
    }
    var rest = Array(text[(schemeEnd?.upperBound ?? text.startIndex)...].utf8)[...]
    if rest.last == UInt8(ascii: "/") { rest.removeLast() }
    guard !rest.contains(where: { "/?#".utf8.contains($0) }) else {
      throw InvalidProxy("the URL of a proxy ends with its port; escape / ? # in a password")
    }
    let authority: URLAuthority
    do {
      authority = try URLAuthority(parsing: rest)
    } catch {
      throw InvalidProxy(
        "not the URL of a proxy, such as http://proxy.example:3128: \(error.detail)")
    }
    let digits = authority.port.dropFirst()
    guard let port = digits.isEmpty ? scheme.standardPort : UInt16(digits), port > 0 else {
      throw InvalidProxy("the port of a proxy is a number from 1 to 65535")
    }
    self.init(
      scheme: scheme, credentials: authority.userInformation, host: authority.host, port: port)
  }

  private init(scheme: Scheme, credentials: String, host: String, port: UInt16) {
    self.scheme = scheme
    self.credentials = credentials
    self.host = host
    self.port = port
  }

  /// The URL with user and password.
  package var text: String { "\(scheme.rawValue)://\(credentials)\(host):\(port)" }

  package var hasCredentials: Bool { !credentials.isEmpty }

  /// The same proxy for people: the text has `***` in place of user and password.
  package var withoutCredentials: ProxyURL {
    ProxyURL(
      scheme: scheme, credentials: hasCredentials ? Self.hiddenCredentials : "", host: host,
      port: port)
  }

  /// Whether requests are sent by HTTP to it.
  package var isHTTP: Bool { scheme == .http || scheme == .https }
}

extension ProxyURL: WrappingValue {
  package var coded: String { text }

  package init(coded text: String) throws { try self.init(parsing: text) }
}

/// Why a text is not the URL of a proxy, for people.
package struct InvalidProxy: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
