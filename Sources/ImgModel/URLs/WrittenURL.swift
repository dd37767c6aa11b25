/// Completes URLs that people type in lists and on command lines.
enum WrittenURL {
  private static let marks: [(opening: String, closing: String)] = [("<", ">"), ("\"", "\"")]
  private static let knownSchemes = ["http", "https", "data", "file"]
  /// U+3002, U+FF0E and U+FF61 separate labels like the full stop (UTS #46 section 2.3).
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

  /// Removes surrounding white space, and angle brackets or quotes (RFC 3986 appendix C). Adds
  /// `https:` to a text that begins with a host name, or with `//` and a host name.
  ///
  /// - Throws: a ``Failure`` with code `invalid_url` for a text with neither scheme nor host.
  static func completed(_ written: String) throws(Failure) -> String {
    let text = String(unwrapped(written))
    guard !text.isEmpty else { throw ImageURL.invalid("the URL is empty") }
    let isSchemeLeftOut = text.utf8.starts(with: "//".utf8)
    let name = text.utf8.dropFirst(isSchemeLeftOut ? 2 : 0)
    let front = name.prefix { !"/?#".utf8.contains($0) }
    if !isSchemeLeftOut, hasScheme(front) { return text }
    guard isHost(front, isAlone: front.count == name.count) else {
      throw ImageURL.invalid(
        "the URL has no scheme and does not begin with a host name; write "
          + "https://example.org/a.jpg, or file:///srv/a.jpg for a file")
    }
    return (isSchemeLeftOut ? "https:" : "https://") + text
  }

  private static func unwrapped(_ written: String) -> Substring {
    var text = trimmed(written[...])
    for (opening, closing) in marks
    where text.utf8.count > 1 && text.hasPrefix(opening) && text.hasSuffix(closing) {
      text = trimmed(text.dropFirst().dropLast())
    }
    return text
  }

  /// Removes white space, byte order marks and zero-width spaces, which are invisible when people
  /// copy a URL.
  private static func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (scalar: Unicode.Scalar) in
      scalar.properties.isWhitespace || ["\u{FEFF}", "\u{200B}"].contains(scalar)
    }
    let scalars = text.unicodeScalars.drop(while: isBlank)
    let end = scalars.lastIndex { !isBlank($0) }.map { scalars.index(after: $0) }
    return Substring(scalars[..<(end ?? scalars.startIndex)])
  }

  /// Whether the text before the first colon is a scheme. It is a host if a port follows.
  private static func hasScheme(_ front: Substring.UTF8View) -> Bool {
    guard front.first != UInt8(ascii: "["), let colon = front.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    return knownSchemes.contains(String(decoding: front[..<colon], as: UTF8.self).lowercased())
      || !isPort(front[front.index(after: colon)...])
  }

  /// Whether the text is a host: `localhost`, a name with a dot, any name with a port, or an address
  /// in brackets. A name alone with an image extension, such as `a.jpg`, is a file. A name with a
  /// user before it is a mail address.
  private static func isHost(_ front: Substring.UTF8View, isAlone: Bool) -> Bool {
    guard front.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"@\\".utf8.contains($0) }) else {
      return false
    }
    if front.first == UInt8(ascii: "[") { return true }
    if let colon = front.firstIndex(of: UInt8(ascii: ":")) {
      return colon > front.startIndex && isPort(front[front.index(after: colon)...])
    }
    let name = String(decoding: front, as: UTF8.self)
    var labels = name.unicodeScalars.split(omittingEmptySubsequences: false) { dots.contains($0) }
    if labels.last?.isEmpty == true { labels.removeLast() }
    let isDotted = labels.count > 1 && labels.allSatisfy { !$0.isEmpty }
    return name.lowercased() == "localhost"
      || isDotted && !(isAlone && ImageFormat(extensionOf: name) != nil)
  }

  private static func isPort(_ text: Substring.UTF8View) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return text.allSatisfy(digits.contains)
      && UInt16(String(decoding: text, as: UTF8.self)).map { $0 > 0 } ?? false
  }
}
