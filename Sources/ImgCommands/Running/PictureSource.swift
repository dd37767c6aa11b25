package import ImgWire

/// What a person names where a picture is wanted.
package enum PictureSource: Hashable, Sendable {
  case url(String)
  /// A path that this process can open; `-` for standard input.
  case file(String)

  private static let fileScheme = "file:"

  /// Tells a URL by its scheme; a path whose first part holds a colon is written `./a:b`.
  ///
  /// - Throws: a ``Failure`` of code `invalid_url` for a `file:` URL of another machine.
  package init(_ text: String) throws(Failure) {
    if text.lowercased().hasPrefix(Self.fileScheme) {
      self = .file(try Self.path(ofFileURL: text.dropFirst(Self.fileScheme.count)))
    } else if text.prefix(while: { $0 != "/" }).contains(":") {
      self = .url(text)
    } else {
      self = .file(text)
    }
  }

  /// RFC 8089 section 2: `file:/path`, `file:///path` or `file://localhost/path`.
  private static func path(ofFileURL rest: Substring) throws(Failure) -> String {
    var path = rest
    if rest.hasPrefix("//") {
      let authority = rest.dropFirst(2).prefix { $0 != "/" }
      guard ["", "localhost"].contains(authority.lowercased()) else {
        throw failure("a file: URL names a file of this machine, not of \(authority)")
      }
      path = rest[authority.endIndex...]
    }
    let bytes = PercentEncoding.decoded(path.utf8)
    // open(2) would end the path there.
    guard path.hasPrefix("/"), !bytes.contains(0) else {
      throw failure("a file: URL holds an absolute path")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func failure(_ detail: String) -> Failure {
    Failure(stage: .queue, code: .invalidURL, detail: detail)
  }
}
