package import ImgWire

/// What a person names where a picture is wanted.
package enum PictureSource: Hashable, Sendable {
  case url(String)
  /// A path that this process can open; `-` for standard input.
  case file(String)

  /// Tells a URL by its scheme; a path whose first part holds a colon is written `./a:b`.
  ///
  /// - Throws: a ``Failure`` of code `invalid_url` for a `file:` URL of another machine.
  package init(_ text: String) throws(Failure) {
    if let path = try FileURL.path(of: text) {
      self = .file(path)
    } else if text.prefix(while: { $0 != "/" }).contains(":") {
      self = .url(text)
    } else {
      self = .file(text)
    }
  }
}
