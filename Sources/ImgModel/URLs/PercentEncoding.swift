/// Escapes in URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// Decodes the escapes of a part of a URL. A percent sign that does not begin an escape is kept
  /// (WHATWG URL Standard, section 1.3).
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == percent, let high = rest.first.flatMap(hexadecimalValue),
        let low = rest.dropFirst().first.flatMap(hexadecimalValue)
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  /// Escapes the bytes of a text that the closure selects.
  static func encoded(_ text: String, where isEscaped: (UInt8) -> Bool) -> String {
    let bytes = text.utf8.flatMap { isEscaped($0) ? escape(for: $0) : [$0] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes the bytes of a part of a URL that URIs do not allow: bytes that are not ASCII, spaces,
  /// and the other characters in RFC 3987 section 3.1. A percent sign that does not begin an escape
  /// becomes `%25`, because servers refuse it.
  ///
  /// Existing escapes do not change, not even their case or those that are unnecessary, because a
  /// server may have signed the URL.
  static func completed(_ part: ArraySlice<UInt8>) -> String {
    if part.allSatisfy(isPlain) { return String(decoding: part, as: UTF8.self) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(part.count)
    for (index, byte) in zip(part.indices, part) {
      let isAllowed =
        byte == percent
        ? part[(index + 1)...].prefix(2).count { hexadecimalValue($0) != nil } == 2
        : isPlain(byte)
      if isAllowed { bytes.append(byte) } else { bytes += escape(for: byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether URIs allow the byte as it is, wherever it stands after the authority of a URL.
  static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), percent, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
      UInt8(ascii: "}"):
      false
    default: (0x21...0x7E).contains(byte)
    }
  }

  private static let percent = UInt8(ascii: "%")

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func escape(for byte: UInt8) -> [UInt8] {
    [percent, digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
  }

  private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}
