/// A URL of a file on this machine: `file:///srv/pictures/a.jpg` (RFC 8089).
package enum FileURL {
  private static let scheme = "file:"

  /// The absolute path in a URL of one of the forms of RFC 8089 section 2: `file:/path`,
  /// `file:///path` or `file://localhost/path`.
  ///
  /// - Returns: `nil` for a URL of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`.
  package static func path(of text: String) throws(Failure) -> String? {
    let prefix = text.utf8.prefix(scheme.utf8.count)
    guard String(decoding: prefix, as: UTF8.self).lowercased() == scheme else { return nil }
    var rest = text.utf8[prefix.endIndex...].prefix { $0 != UInt8(ascii: "#") }
    if rest.starts(with: "//".utf8) {
      let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
      let host = String(decoding: authority, as: UTF8.self)
      guard ["", "localhost"].contains(host.lowercased()) else {
        throw ImageURL.invalid("a file: URL must name a file on this machine, not on \(host)")
      }
      rest = rest[authority.endIndex...]
    }
    guard !rest.contains(UInt8(ascii: "?")) else {
      throw ImageURL.invalid("a file: URL must not have a query; write a question mark as %3F")
    }
    let bytes = PercentEncoding.decoded(rest)
    // open(2) would end the path at a zero byte.
    guard bytes.first == UInt8(ascii: "/"), !bytes.contains(0) else {
      throw ImageURL.invalid("a file: URL must have an absolute path, as in file:///srv/a.jpg")
    }
    guard let path = String(validating: bytes, as: UTF8.self) else {
      throw ImageURL.invalid("the path of a file: URL must be UTF-8")
    }
    return path
  }

  /// The normalised spelling of a `file:` URL.
  ///
  /// - Returns: `nil` for a line of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`. A path with `.` or `..`
  ///   segments is invalid too: no legitimate URL needs them.
  static func text(of line: String) throws(Failure) -> String? {
    guard let path = try path(of: line) else { return nil }
    guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      throw ImageURL.invalid("the path of a file: URL must not have . or .. segments")
    }
    let text =
      "\(scheme)//"
      + PercentEncoding.encoded(path) { $0 <= 0x20 || $0 == 0x7F || "%?#".utf8.contains($0) }
    guard text.utf8.count <= ImageURL.maximumByteCount else {
      throw ImageURL.tooLong
    }
    return text
  }
}
