/// A URL that names a file of this machine: `file:///srv/pictures/a.jpg` (RFC 8089).
package enum FileURL {
  private static let scheme = "file:"

  /// The absolute path that a text names in one of the forms of RFC 8089 section 2: `file:/path`,
  /// `file:///path` or `file://localhost/path`.
  ///
  /// - Returns: `nil` for a text of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`.
  package static func path(of text: String) throws(Failure) -> String? {
    let prefix = text.utf8.prefix(scheme.utf8.count)
    guard String(decoding: prefix, as: UTF8.self).lowercased() == scheme else { return nil }
    var rest = text.utf8[prefix.endIndex...].prefix { $0 != UInt8(ascii: "#") }
    if rest.starts(with: "//".utf8) {
      let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
      let host = String(decoding: authority, as: UTF8.self)
      guard ["", "localhost"].contains(host.lowercased()) else {
        throw ImageURL.invalid("a file: URL names a file of this machine, not of \(host)")
      }
      rest = rest[authority.endIndex...]
    }
    guard !rest.contains(UInt8(ascii: "?")) else {
      throw ImageURL.invalid("a file: URL has no query; %3F stands for a question mark")
    }
    let bytes = PercentEncoding.decoded(rest)
    // open(2) would end the path at the zero byte.
    guard bytes.first == UInt8(ascii: "/"), !bytes.contains(0) else {
      throw ImageURL.invalid("a file: URL holds an absolute path, as in file:///srv/a.jpg")
    }
    guard let path = String(validating: bytes, as: UTF8.self) else {
      throw ImageURL.invalid("the path of a file: URL is UTF-8")
    }
    return path
  }

  /// The one spelling of a line that is such a URL.
  ///
  /// - Returns: `nil` for a line of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`, also for a path that goes by
  ///   way of `.` or `..`: a URL that means what it says needs neither.
  static func text(of line: String) throws(Failure) -> String? {
    guard let path = try path(of: line) else { return nil }
    guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      throw ImageURL.invalid("a file: URL names its file without . and .. in the path")
    }
    let text =
      "\(scheme)//"
      + PercentEncoding.encoded(path) { $0 <= 0x20 || $0 == 0x7F || "%?#".utf8.contains($0) }
    guard text.utf8.count <= ImageURL.maximumByteCount else {
      throw ImageURL.invalid("longer than \(ImageURL.maximumByteCount) bytes")
    }
    return text
  }
}
