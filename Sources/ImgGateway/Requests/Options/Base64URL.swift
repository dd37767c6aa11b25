import FoundationEssentials

/// Base64 with the alphabet for URLs (RFC 4648, section 5).
enum Base64URL {
  /// Without padding.
  static func encoded(_ bytes: [UInt8]) -> String {
    let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != UInt8(ascii: "=") }
    return String(decoding: text.map { urlAlphabet[$0] ?? $0 }, as: UTF8.self)
  }

  /// - Parameter text: with or without padding.
  /// - Returns: `nil` for other characters, and for a length that no bytes have.
  static func decoded(_ text: some StringProtocol) -> [UInt8]? {
    let written = Array(text.utf8)
    let digits = written.prefix { $0 != UInt8(ascii: "=") }
    let isPadding = written[digits.count...].allSatisfy { $0 == UInt8(ascii: "=") }
    guard isPadding, written.count - digits.count <= 2,
      !digits.contains(where: { urlAlphabet.keys.contains($0) })
    else { return nil }
    var standard = digits.map { standardAlphabet[$0] ?? $0 }
    while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
    return Data(base64Encoded: Data(standard)).map { Array($0) }
  }

  private static let urlAlphabet: [UInt8: UInt8] = [
    UInt8(ascii: "+"): UInt8(ascii: "-"), UInt8(ascii: "/"): UInt8(ascii: "_"),
  ]
  private static let standardAlphabet: [UInt8: UInt8] = [
    UInt8(ascii: "-"): UInt8(ascii: "+"), UInt8(ascii: "_"): UInt8(ascii: "/"),
  ]
}
