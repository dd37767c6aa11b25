/// An entity tag, strong or weak (RFC 9110 section 8.8.3). What is too long to be kept, or not of
/// ASCII, is taken for none.
struct EntityTag: Equatable {
  /// With its quotation marks.
  let opaqueTag: String
  let isWeak: Bool

  private static let weakPrefix = "W/"

  /// - Returns: `nil` for what is no entity tag.
  init?(_ text: String) {
    isWeak = text.hasPrefix(Self.weakPrefix)
    opaqueTag = String(text.dropFirst(isWeak ? Self.weakPrefix.count : 0))
    let bytes = Array(opaqueTag.utf8)
    let quotationMark = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quotationMark, bytes.last == quotationMark,
      text.utf8.count <= CachingFields.maximumKeptByteCount,
      bytes.dropFirst().dropLast().allSatisfy({
        (0x21...0x7E).contains($0) && $0 != quotationMark
      })
    else { return nil }
  }

  /// Weak comparison, which is that of If-None-Match (sections 8.8.3.2 and 13.1.2).
  func isWeaklyEqual(to other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
