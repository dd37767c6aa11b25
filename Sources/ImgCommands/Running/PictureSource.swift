package import ImgModel
import ImgSystem

/// The source of a picture on a command line.
package enum PictureSource: Hashable, Sendable {
  case url(String)
  /// A path for this process to open; `-` for standard input.
  case file(String)

  /// The source that a text names on this machine.
  ///
  /// - Throws: as ``init(_:isFile:)`` does.
  init(_ text: String) throws(Failure) {
    try self.init(text, isFile: FileIO.isFile)
  }

  /// A text with a scheme is a URL. So is a text that begins with a host name, unless a file of
  /// that name exists. A path whose first part contains a colon is written `./a:b`.
  ///
  /// - Parameter isFile: whether a path is a file.
  /// - Throws: a ``Failure`` with code `invalid_url` for a `file:` URL of another machine.
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
