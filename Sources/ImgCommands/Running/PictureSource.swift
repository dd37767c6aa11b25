package import ImgModel

/// What a person names where a picture is wanted.
package enum PictureSource: Hashable, Sendable {
  case url(String)
  /// A path that this process can open; `-` for standard input.
  case file(String)

  /// Tells a URL by its scheme, or by the host name with which it begins where there is no file of
  /// that name; a path whose first part holds a colon is written `./a:b`.
  ///
  /// - Parameter isFile: whether there is a file at a path.
  /// - Throws: a ``Failure`` of code `invalid_url` for a `file:` URL of another machine.
  package init(_ text: String, isFile: (String) -> Bool) throws(Failure) {
    if let path = try FileURL.path(of: text) {
      self = .file(path)
    } else if text.prefix(while: { $0 != "/" }).contains(":") {
      self = .url(text)
    } else if text == "-" || isFile(text) || (try? ImageURL(line: text)) == nil {
      self = .file(text)
    } else {
      self = .url(text)
    }
  }
}
