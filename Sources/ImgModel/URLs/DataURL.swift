/// A URL that holds its picture: `data:image/png;base64,iVBOR…` (RFC 2397). What type it says it is
/// of is not looked at; the decoder finds out.
package enum DataURL {
  private static let scheme = "data:"
  private static let comma = UInt8(ascii: ",")

  /// The bytes that the URL holds.
  ///
  /// Text is percent-decoded; an escape that is none stands for itself. Of base64, blanks do not
  /// count and padding may be missing, as the forgiving-base64 of the WHATWG Infra Standard has it.
  ///
  /// - Returns: `nil` for any other URL.
  /// - Throws: a ``Failure`` of stage `fetch` with code `invalid_url` for what is no base64.
  package static func contents(of url: ImageURL) throws(Failure) -> [UInt8]? {
    guard url.text.hasPrefix(scheme) else { return nil }
    let rest = Array(url.text.utf8.dropFirst(scheme.utf8.count))
    guard let end = rest.firstIndex(of: comma) else { return nil }
    let data = PercentEncoding.decoded(rest[(end + 1)...])
    guard isBase64(rest[..<end]) else { return data }
    guard let decoded = base64Decoded(data) else {
      throw Failure(
        stage: .fetch, code: .invalidURL, detail: "the data of the data: URL is no base64")
    }
    return decoded
  }

  /// The one spelling of a line that is such a URL: the scheme in lower case, without blanks but
  /// those of a text, which are escaped, and without a fragment.
  ///
  /// - Returns: `nil` for a line of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`.
  static func text(of line: [UInt8]) throws(Failure) -> String? {
    let prefix = line.prefix(scheme.utf8.count)
    guard String(decoding: prefix, as: UTF8.self).lowercased() == scheme else { return nil }
    // A URL parser drops these three wherever they stand (WHATWG URL Standard, section 4.4).
    let rest = line[prefix.endIndex...].filter { !"\t\n\r".utf8.contains($0) }
      .prefix { $0 != UInt8(ascii: "#") }
    guard rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw ImageURL.invalid("holds a control character")
    }
    guard let end = rest.firstIndex(of: comma) else {
      throw ImageURL.invalid("lacks the comma after which the data begins")
    }
    let type = rest[..<end].filter { $0 != space }
    let data = rest[end...]
    let written =
      isBase64(type[...])
      ? data.filter { $0 != space } : data.flatMap { $0 == space ? Array("%20".utf8) : [$0] }
    return scheme + String(decoding: type + written, as: UTF8.self)
  }

  private static let space = UInt8(ascii: " ")

  private static func isBase64(_ type: ArraySlice<UInt8>) -> Bool {
    String(decoding: type.suffix(7), as: UTF8.self).lowercased() == ";base64"
  }

  /// - Returns: `nil` where a character is none of base64 or the length is none that it can have.
  private static func base64Decoded(_ text: [UInt8]) -> [UInt8]? {
    var digits = text.filter { !" \t\n\r\u{C}".utf8.contains($0) }[...]
    if digits.count.isMultiple(of: 4) {
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var bitCount = 0
    for digit in digits {
      guard let value = base64Value(digit) else { return nil }
      bits = bits << 6 | UInt32(value)
      bitCount += 6
      guard bitCount >= 8 else { continue }
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
    }
    return bytes
  }

  /// RFC 4648 section 4.
  private static func base64Value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
