/// The cookies that a user gives for the requests of a job. Each is sent to its own domain and path alone.
///
/// The jobs' lists are long, so those of a URL are found by the labels of its host.
package struct Cookies: Hashable, Sendable {
  private let cookies: [String: [Cookie]]

  /// About as many as a browser keeps.
  package static let maximumCount = 3_000
  /// The total size of the lines. They travel in one frame.
  package static let maximumByteCount = 256 << 10

  package static let none = Cookies(byDomain: [:])

  private init(byDomain cookies: [String: [Cookie]]) {
    self.cookies = cookies
  }

  /// - Parameter cookies: a later one replaces one of the same domain, path and name.
  /// - Throws: ``InvalidFetchOption`` if the cookies exceed a limit.
  package init(_ cookies: [Cookie]) throws(InvalidFetchOption) {
    guard cookies.count <= Self.maximumCount,
      cookies.reduce(0, { $0 + $1.line.utf8.count + 1 }) <= Self.maximumByteCount
    else {
      throw InvalidFetchOption(
        "at most \(Self.maximumCount) cookies of \(Self.maximumByteCount >> 10) KiB in total can be "
          + "set; export those of the sites in question alone")
    }
    var byDomain: [String: [Cookie]] = [:]
    for cookie in cookies {
      byDomain[cookie.domain, default: []].removeAll {
        $0.path == cookie.path && $0.name == cookie.name
      }
      byDomain[cookie.domain, default: []].append(cookie)
    }
    self.init(byDomain: byDomain)
  }

  package var isEmpty: Bool { cookies.isEmpty }

  /// The lines of Netscape's cookie file, the domains in order.
  package var lines: [String] {
    cookies.sorted { $0.key < $1.key }.flatMap(\.value).map(\.line)
  }

  /// Those that may be sent with a request for a URL, or for where redirects lead on its host. No others
  /// are sent, wherever a redirect leads: the name of the picture tells of these alone.
  package func matching(_ url: ImageURL) -> Cookies {
    guard !isEmpty, let parts = OriginParts(url) else { return .none }
    let path = parts.path.isEmpty ? "/" : parts.path
    var found: [String: [Cookie]] = [:]
    var domain = parts.host[...]
    while true {
      let matching = (cookies[String(domain)] ?? []).filter {
        $0.matches(host: parts.host, path: path)
      }
      if !matching.isEmpty { found[String(domain)] = matching }
      guard let dot = domain.firstIndex(of: ".") else { return Cookies(byDomain: found) }
      domain = domain[domain.index(after: dot)...]
    }
  }

  /// What of them makes another picture: names and values, as the header field holds them.
  var text: String {
    cookies.values.joined().map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "; ")
  }
}

extension Cookies: Codable {
  package init(from decoder: any Decoder) throws {
    let lines = try decoder.singleValueContainer().decode([String].self)
    self = try decoder.checked { try Cookies(try lines.map(Cookie.init(line:))) }
  }

  /// Encodes none of them if the output is for people, see ``CodingUserInfoKey/isForPeople``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    guard encoder.userInfo[.isForPeople] == nil else { return try container.encode([String]()) }
    try container.encode(lines)
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write an empty list.

extension KeyedDecodingContainer {
  package func decode(_ type: Cookies.Type, forKey key: Key) throws -> Cookies {
    try decodeIfPresent(Cookies.self, forKey: key) ?? Cookies.none
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: Cookies, forKey key: Key) throws {
    try encodeIfPresent(value.isEmpty ? nil : value, forKey: key)
  }
}
