/// Escapes in URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// The bytes that a part of a URL stands for. A percent sign that begins no escape stands for
  /// itself (WHATWG URL Standard, section 1.3).
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexadecimalValue),
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

  /// A text in which an escape stands for each byte that is to have one.
  static func encoded(_ text: String, where isEscaped: (UInt8) -> Bool) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte in
      isEscaped(byte)
        ? [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]] : [byte]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}
