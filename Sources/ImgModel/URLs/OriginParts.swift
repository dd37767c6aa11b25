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
