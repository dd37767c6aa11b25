import ImgModel

/// A host name as text.
package enum HostText {
  /// Reads a host as a URL does, so that both have one spelling.
  ///
  /// - Returns: in ASCII and lower case.
  package static func host(parsing text: String) throws(InvalidValue) -> String {
    // The reason of a URL would not fit a host.
    guard let url = try? ImageURL(parsing: "http://\(text)/"), url.text == "http://\(url.host)/"
    else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a host; write only its name, such as example.org")
    }
    return url.host
  }
}
