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

extension OriginPattern: Codable {
  package init(from decoder: any Decoder) throws {
    let decoded = try decoder.singleValueContainer().decode(String.self)
    self = try decoder.checked { try OriginPattern(parsing: decoded) }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
