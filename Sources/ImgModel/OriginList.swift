/// The origins that pictures may come from. It is asked about the URL as it is fetched, so a spelling that
/// people or parsers misread does not pass.
package struct OriginList: Hashable, Sendable {
  /// Sorted and unique, so that equal lists compare equal. Empty for every `http:` and `https:` origin.
  private let patterns: [OriginPattern]

  package static let maximumCount = 256
  /// The total size of the patterns.
  package static let maximumByteCount = 8 << 10

  /// Every `http:` and `https:` origin.
  package static let all = OriginList()

  private init() {
    patterns = []
  }

  /// - Parameter patterns: without any, every `http:` and `https:` origin is permitted.
  /// - Throws: ``InvalidFetchOption`` if the patterns exceed a limit.
  package init(_ patterns: [OriginPattern]) throws(InvalidFetchOption) {
    guard patterns.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) origins can be set")
    }
    guard patterns.reduce(0, { $0 + $1.text.utf8.count }) <= Self.maximumByteCount else {
      throw InvalidFetchOption("origins can have at most \(Self.maximumByteCount) bytes in total")
    }
    self.patterns = Set(patterns).sorted { $0.text < $1.text }
  }

  /// Whether a picture may come from a URL. Files never do; `data:` URLs only if the list has them.
  package func permits(_ url: ImageURL) -> Bool {
    patterns.isEmpty ? !url.isLocal : patterns.contains { $0.matches(url) }
  }
}

extension OriginList: WrappingValue {
  package var coded: [OriginPattern] { patterns }

  package init(coded patterns: [OriginPattern]) throws { try self.init(patterns) }
}

/// The parts of an `http:` or `https:` URL that an ``OriginPattern`` compares, from the spelling that is
/// fetched.
struct OriginParts {
  let scheme: String
  /// In lower case and in ASCII, without the dot at the end.
  let host: String
  /// The port that the URL spells, or the standard port of its scheme.
  let port: Int
  /// `nil` without one.
  let writtenPort: Int?
  /// Empty, or from the slash to the query.
  let path: String
  /// From the question mark on; `nil` without one.
  let query: String?
  let hasUser: Bool

  /// - Returns: `nil` for another scheme, and for a port that is none.
  init?(_ url: ImageURL) {
    guard !url.isLocal, let colon = url.origin.firstIndex(of: ":") else { return nil }
    scheme = String(url.origin[..<colon])
    host = url.host
    let authority = url.origin.dropFirst(scheme.count + 3)
    let portText = authority.hasPrefix(url.host) ? authority.dropFirst(url.host.count) : ""
    let digits = portText.drop { $0 == "." || $0 == ":" }
    guard digits.isEmpty || UInt16(digits) != nil else { return nil }
    writtenPort = UInt16(digits).map(Int.init)
    port = writtenPort ?? Self.standardPort(of: scheme)
    let rest = url.text.dropFirst(scheme.count + 3)
    let end = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
    hasUser = rest[..<end].contains("@")
    let queryStart = rest.firstIndex(of: "?") ?? rest.endIndex
    path = String(rest[end..<max(end, queryStart)])
    query = queryStart < rest.endIndex ? String(rest[queryStart...]) : nil
  }

  static func standardPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

  /// Whether a client or a server may read the path as another one: `.` and `..`, in any spelling, and
  /// slashes and backslashes that are escaped, once or more often.
  var isPathAmbiguous: Bool {
    let text = path.lowercased()
    let hasDots = text.split(separator: "/").contains { segment in
      let dots = segment.replacing("%2e", with: ".")
      return dots == "." || dots == ".." || dots.hasPrefix("..;")
    }
    return hasDots || ["%2f", "%5c", "\\", "%25"].contains(where: text.contains)
  }
}

/// One entry of a list of origins: `https://*.example.org/pictures`.
///
/// - The scheme may be left out: `http` and `https` match then. `data:` is an entry of its own.
/// - `*.example.org` matches every name below `example.org`, and not `example.org` itself. `*` matches every
///   host.
/// - Without a port, the standard port of the scheme matches.
/// - A path matches itself and what is below it.
package struct OriginPattern: Sendable {
  private enum Hosts {
    case all
    case one(String)
    /// Names below a domain.
    case below(String)
  }

  /// As it was written.
  package let text: String
  private let schemes: Set<String>
  private let hosts: Hosts
  /// `nil` for the standard port.
  private let port: Int?
  /// Without a slash at the end; empty for every path.
  private let path: String
  /// Whether this is the entry `data:`.
  private let matchesData: Bool

  /// - Throws: ``InvalidFetchOption``. Its text does not repeat the entry.
  package init(parsing text: String) throws(InvalidFetchOption) {
    self.text = text
    matchesData = text == "data:"
    guard !matchesData else {
      (schemes, hosts, port, path) = ([], .all, nil, "")
      return
    }
    let scheme = Self.schemes.first { text.hasPrefix("\($0)://") }
    let rest = scheme.map { text.dropFirst($0.utf8.count + 3) } ?? text[...]
    let isBelow = rest.hasPrefix("*.")
    let isAll = rest == "*" || rest.hasPrefix("*:") || rest.hasPrefix("*/")
    // A placeholder for a star on its own, so that the same parser reads all entries.
    let written = isBelow ? rest.dropFirst(2) : isAll ? "all" + rest.dropFirst() : rest
    // An empty port, another scheme and a fragment would be read as something else.
    guard !written.hasSuffix(":"), !written.contains(":/"), !written.contains("#"),
      // What is wrong with the URL is said by the message below.
      let url = try? ImageURL(parsing: "\(scheme ?? "https")://\(written)"),
      let parts = OriginParts(url), !parts.hasUser, parts.query == nil,
      !parts.isPathAmbiguous
    else { throw Self.invalid }
    schemes = scheme.map { [$0] } ?? Set(Self.schemes)
    hosts = isAll ? .all : isBelow ? .below(".\(parts.host)") : .one(parts.host)
    port = parts.writtenPort
    path = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
  }

  private static let schemes = ["https", "http"]

  private static let invalid = InvalidFetchOption(
    "not an origin; write https://example.org, *.example.org, example.org:8080/pictures, * or "
      + "data:")

  /// Whether a URL is of the origin.
  package func matches(_ url: ImageURL) -> Bool {
    guard let parts = OriginParts(url) else {
      return matchesData && url.isLocal && !url.isFile
    }
    return !matchesData && schemes.contains(parts.scheme) && matches(host: parts.host)
      && parts.port == (port ?? OriginParts.standardPort(of: parts.scheme)) && matches(path: parts)
  }

  private func matches(host: String) -> Bool {
    switch hosts {
    case .all: true
    case .one(let name): host == name
    case .below(let suffix): host.hasSuffix(suffix) && host.utf8.count > suffix.utf8.count
    }
  }

  private func matches(path parts: OriginParts) -> Bool {
    guard !path.isEmpty else { return true }
    // What is sent to the server may be another path.
    guard !parts.isPathAmbiguous else { return false }
    return parts.path == path || parts.path.hasPrefix("\(path)/")
  }
}

/// Entries are equal if they are spelled alike.
extension OriginPattern: Hashable {
  package static func == (left: Self, right: Self) -> Bool { left.text == right.text }

  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension OriginPattern: WrappingValue {
  package var coded: String { text }

  package init(coded text: String) throws { try self.init(parsing: text) }
}
