/// Text of metadata, whose encoding is often not the one that the standard asks for.
enum MetadataText {
  /// Text up to the first NUL, without white space around it. It is UTF-8, else Latin-1, as most
  /// programs write what the standards call ASCII.
  ///
  /// - Parameter isCut: whether a character may end behind the bytes.
  /// - Returns: `nil` if nothing is left.
  static func text(_ bytes: some Sequence<UInt8>, isCut: Bool = false) -> String? {
    var bytes = Array(bytes.prefix { $0 != 0 })
    if isCut, let last = bytes.suffix(3).lastIndex(where: { $0 >= 0xC2 }) {
      bytes.removeSubrange(last...)
    }
    return trimmed(String(validating: bytes, as: UTF8.self) ?? latin1(bytes))
  }

  /// Text that is declared to be UTF-8; what is not becomes U+FFFD.
  static func repairedUTF8(_ bytes: some Sequence<UInt8>) -> String? {
    trimmed(String(decoding: Array(bytes.prefix { $0 != 0 }), as: UTF8.self))
  }

  /// Text of 16-bit units up to the first NUL.
  static func utf16(_ bytes: [UInt8], _ order: ByteOrder) -> String? {
    let fields = BinaryFields(bytes, order)
    let units = (0..<bytes.count / 2).map { UInt16(truncatingIfNeeded: fields.u16($0 * 2)) }
    return trimmed(String(decoding: units.prefix { $0 != 0 }, as: UTF16.self))
  }

  private static func latin1(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  private static func trimmed(_ text: String) -> String? {
    let isSpace = { (character: Unicode.Scalar) in character.properties.isWhitespace }
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !isSpace($0) }),
      let last = scalars.lastIndex(where: { !isSpace($0) })
    else { return nil }
    return String(scalars[first...last])
  }
}
