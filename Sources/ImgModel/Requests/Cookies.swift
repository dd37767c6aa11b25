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

extension Cookies: WrappingValue {
  package var coded: [String] { lines }

  package init(coded lines: [String]) throws { try self.init(try lines.map(Cookie.init(line:))) }

  /// Encodes none of them if the output is for people, see ``CodingUserInfoKey/isForPeople``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(encoder.userInfo[.isForPeople] == nil ? lines : [])
  }
}

/// A cookie (RFC 6265) that a user gives for the requests of a job, in the form in which curl, wget and
/// yt-dlp keep them: a line of Netscape's cookie file.
///
/// Its value may be a secret: logs and outputs for people omit it.
package struct Cookie: Hashable, Sendable {
  /// In lower case and without a dot at its beginning.
  let domain: String
  /// Whether it is also for the subdomains of its domain.
  let includesSubdomains: Bool
  let path: String
  /// Whether it is sent over TLS alone.
  let isSecure: Bool
  /// In seconds since 1970; 0 for a cookie that does not expire.
  let expiry: Int64
  let name: String
  let value: String

  private static let fieldCount = 7

  /// Reads a line: domain, whether subdomains count, path, whether it is for TLS alone, the moment at which
  /// it expires, name and value, with a tab between two of them. The value may be missing.
  ///
  /// - Parameter line: without `#HttpOnly_` and without its end.
  /// - Throws: ``InvalidFetchOption`` for another text. The error does not contain the value.
  package init(line: String) throws(InvalidFetchOption) {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard (Self.fieldCount - 1...Self.fieldCount).contains(fields.count) else {
      throw InvalidFetchOption(
        "a cookie has \(Self.fieldCount) fields with tabs between them, not \(fields.count)")
    }
    guard let includesSubdomains = Self.flag(fields[1]), let isSecure = Self.flag(fields[3]) else {
      throw InvalidFetchOption("the fields 2 and 4 of a cookie are TRUE or FALSE")
    }
    guard let expiry = Self.seconds(fields[4]) else {
      throw InvalidFetchOption("the field 5 of a cookie is a number of seconds since 1970")
    }
    let written = fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]
    guard let domain = try? HostName.ascii(written) else {
      throw InvalidFetchOption("the field 1 of a cookie is a domain")
    }
    guard !fields[5].isEmpty, line.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F })
    else {
      throw InvalidFetchOption("a cookie has a name, and no control characters")
    }
    self.domain = domain
    self.includesSubdomains = includesSubdomains
    path = fields[2].hasPrefix("/") ? fields[2] : "/"
    self.isSecure = isSecure
    self.expiry = expiry
    self.name = fields[5]
    value = fields.count == Self.fieldCount ? fields[6] : ""
  }

  /// The line of the file, without its end.
  package var line: String {
    [
      domain, includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", "\(expiry)",
      name, value,
    ].joined(separator: "\t")
  }

  /// Whether it may be sent with a request for the URL, or for where a redirect leads on its host: that may
  /// be the same URL over TLS (RFC 6265 sections 5.1.3 and 5.1.4).
  ///
  /// - Parameter path: of the URL.
  func matches(host: String, path urlPath: String) -> Bool {
    let isHost = host == domain
    // An address has no subdomains.
    let isBelow =
      includesSubdomains && host.hasSuffix(".\(domain)") && host.last?.isNumber == false
    guard isHost || isBelow else { return false }
    return urlPath == path
      || urlPath.hasPrefix(path)
        && (path.hasSuffix("/") || urlPath.dropFirst(path.count).first == "/")
  }

  package func hasExpired(at now: WallTime) -> Bool {
    expiry > 0 && expiry <= now.rawValue / 1_000
  }

  private static func flag(_ text: String) -> Bool? {
    switch text.uppercased() {
    case "TRUE": true
    case "FALSE": false
    default: nil
    }
  }

  /// Programs write nothing, 0 or -1 for a cookie of a session, and some write fractions.
  private static func seconds(_ text: String) -> Int64? {
    if text.isEmpty { return 0 }
    guard let seconds = Double(text), seconds.isFinite else { return nil }
    return Int64(min(max(seconds, 0), 253_402_300_799))
  }
}
