internal import FoundationEssentials

/// A URL that contains its picture: `data:image/png;base64,iVBOR…` (RFC 2397). The media type is
/// ignored: the decoder detects the format from the bytes.
package enum DataURL {
  private static let scheme = "data:"
  private static let comma = UInt8(ascii: ",")
  private static let space = UInt8(ascii: " ")
  private static let padding = UInt8(ascii: "=")

  /// The bytes of the picture.
  ///
  /// The data is percent-decoded, and then base64-decoded if the URL says `;base64`.
  ///
  /// - Returns: `nil` for a URL of another scheme.
  /// - Throws: a ``Failure`` of stage `fetch` with code `invalid_url` if the base64 is invalid.
  package static func contents(of url: ImageURL) throws(Failure) -> [UInt8]? {
    guard url.text.hasPrefix(scheme) else { return nil }
    guard let contents = contents(ofText: Array(url.text.utf8)) else {
      throw Failure(
        stage: .fetch, code: .invalidURL, detail: "the data: URL contains invalid base64")
    }
    return contents
  }

  /// The same for the text of a URL that was not checked, such as one inside an SVG.
  ///
  /// - Returns: `nil` for a URL of another scheme, without a comma or with invalid base64.
  package static func contents(ofText text: [UInt8]) -> [UInt8]? {
    guard text.starts(with: scheme.utf8), let end = text.firstIndex(of: comma) else { return nil }
    let data = PercentEncoding.decoded(text[(end + 1)...])
    return isBase64(text[..<end]) ? base64Decoded(data) : data
  }

  /// The normalised spelling of a `data:` URL: the scheme in lower case and no fragment. Spaces in
  /// text are escaped; all other spaces are removed.
  ///
  /// - Returns: `nil` for a line of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`.
  static func text(of line: [UInt8]) throws(Failure) -> String? {
    let prefix = line.prefix(scheme.utf8.count)
    guard String(decoding: prefix, as: UTF8.self).lowercased() == scheme else { return nil }
    // URL parsers drop these three anywhere in a URL (WHATWG URL Standard, section 4.4).
    let rest = line[prefix.endIndex...].filter { !"\t\n\r".utf8.contains($0) }
      .prefix { $0 != UInt8(ascii: "#") }
    guard rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw ImageURL.invalid("the URL contains a control character")
    }
    guard let end = rest.firstIndex(of: comma) else {
      throw ImageURL.invalid("the data: URL has no comma before its data")
    }
    let type = rest[..<end].filter { $0 != space }
    let data = rest[end...]
    let written =
      isBase64(type[...])
      ? data.filter { $0 != space } : data.flatMap { $0 == space ? Array("%20".utf8) : [$0] }
    return scheme + String(decoding: type + written, as: UTF8.self)
  }

  private static func isBase64(_ type: ArraySlice<UInt8>) -> Bool {
    String(decoding: type.suffix(7), as: UTF8.self).lowercased() == ";base64"
  }

  /// Forgiving-base64 (WHATWG Infra Standard, section 7): white space is ignored, and the padding
  /// may be missing.
  ///
  /// - Returns: `nil` for an invalid character or length.
  private static func base64Decoded(_ text: [UInt8]) -> [UInt8]? {
    var digits = text.filter { !" \t\n\r\u{C}".utf8.contains($0) }
    if digits.count.isMultiple(of: 4) {
      for _ in 0..<2 where digits.last == padding { digits.removeLast() }
    }
    // Foundation requires padding and accepts too much of it: it decodes `====` as a zero byte.
    guard digits.count % 4 != 1, !digits.contains(padding) else { return nil }
    while !digits.count.isMultiple(of: 4) { digits.append(padding) }
    return Data(base64Encoded: Data(digits)).map { Array($0) }
  }
}
