/// An entity tag, strong or weak (RFC 9110 section 8.8.3). A tag that is longer than
/// ``maximumByteCount`` or not of ASCII counts as none: others might not come back as they went.
struct EntityTag: Hashable, Sendable {
  /// With its quotation marks.
  let opaqueTag: String
  let isWeak: Bool

  static let maximumByteCount = 512
  private static let weakPrefix = "W/"

  /// - Returns: `nil` for text that is no entity tag.
  init?(_ text: String) {
    isWeak = text.hasPrefix(Self.weakPrefix)
    opaqueTag = String(text.dropFirst(isWeak ? Self.weakPrefix.count : 0))
    let bytes = Array(opaqueTag.utf8)
    let quotationMark = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quotationMark, bytes.last == quotationMark,
      text.utf8.count <= Self.maximumByteCount,
      bytes.dropFirst().dropLast().allSatisfy({
        (0x21...0x7E).contains($0) && $0 != quotationMark
      })
    else { return nil }
  }

  /// As a field carries it.
  var text: String { isWeak ? Self.weakPrefix + opaqueTag : opaqueTag }

  /// Weak comparison, as If-None-Match compares (sections 8.8.3.2 and 13.1.2).
  func isWeaklyEqual(to other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
