/// Text with escapes (RFC 3986, section 2.1), as request targets have it.
enum EscapedText {
  /// Decodes each escape once. A plus sign stays one: weserv, imgproxy and URLs in queries have it so.
  ///
  /// - Throws: 400 for a percent sign without two hexadecimal digits, for a zero byte, and for bytes that are
  ///   not UTF-8.
  static func decoded(_ text: some StringProtocol) throws(RequestRejection) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else {
        throw .malformedTarget(
          "a percent sign is not followed by two hexadecimal digits; write %25 for a percent sign")
      }
      bytes.append(high << 4 | low)
    }
    guard !bytes.contains(0), let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .malformedTarget("the escapes of the request target are not text in UTF-8")
    }
    return decoded
  }

  /// Whether a text has a colon, maybe escaped.
  static func hasColon(_ text: some StringProtocol) -> Bool {
    restoringColons(in: text).utf8.contains(UInt8(ascii: ":"))
  }

  /// Decodes escaped colons alone, which some proxies write.
  static func restoringColons(in text: some StringProtocol) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.first {
      let isColon = rest.starts(with: "%3A".utf8) || rest.starts(with: "%3a".utf8)
      bytes.append(isColon ? UInt8(ascii: ":") : byte)
      rest = rest.dropFirst(isColon ? 3 : 1)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes all bytes that are not unreserved (section 2.3), so that a value can stand anywhere.
  static func encoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte in
      isUnreserved(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// The value of a hexadecimal digit.
  private static func digit(_ byte: UInt8) -> UInt8? {
    guard byte < 0x80 else { return nil }
    return Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}
