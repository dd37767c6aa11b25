/// Escapes in URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// The bytes that a part of a URL stands for. A percent sign that begins no escape stands for
  /// itself (WHATWG URL Standard, section 1.3).
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

  /// A text in which an escape stands for each byte that is to have one.
  static func encoded(_ text: String, where isEscaped: (UInt8) -> Bool) -> String {
    let bytes = text.utf8.flatMap { isEscaped($0) ? escape(for: $0) : [$0] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A part of a URL in which escapes stand for what no URI holds: bytes that are not ASCII, spaces,
  /// and the characters that RFC 3987 section 3.1 names with them. So does `%25` for a percent sign
  /// that begins no escape, which servers refuse.
  ///
  /// Escapes that are there stay as they are written, in either case and also where none is needed:
  /// a server may have signed them.
  static func completed(_ part: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(part.count)
    for (index, byte) in zip(part.indices, part) {
      let isAllowed =
        byte == percent
        ? part[(index + 1)...].prefix(2).count { hexadecimalValue($0) != nil } == 2
        : (0x21...0x7E).contains(byte) && !"\"<>\\^`{|}".utf8.contains(byte)
      if isAllowed { bytes.append(byte) } else { bytes += escape(for: byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
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
