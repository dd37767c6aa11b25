/// What a colour profile (ICC.1, sections 7.2 and 7.3) says of itself: as much as decides how it is
/// used.
struct ICCProfile {
  enum ColourSpace {
    case gray, rgb, cmyk
  }

  /// How colours that the other space does not have are brought into it (ICC.1 section 6.2).
  enum Intent {
    case perceptual, relativeColorimetric, saturation
  }

  /// Of the pixels; `nil` for one that no picture here has.
  let colourSpace: ColourSpace?
  private let tags: Set<String>

  private static let headerByteCount = 128
  private static let tagByteCount = 12
  /// Profiles have some twenty.
  private static let maximumTagCount = 256

  /// - Returns: `nil` when the bytes are too few for a profile.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.headerByteCount + 4 else { return nil }
    let signature = { (offset: Int) in String(decoding: bytes[offset..<offset + 4], as: UTF8.self) }
    colourSpace =
      switch signature(16) {
      case "GRAY": .gray
      case "RGB ": .rgb
      case "CMYK": .cmyk
      default: nil
      }
    let declared = bytes[Self.headerByteCount..<Self.headerByteCount + 4]
      .reduce(0) { $0 << 8 | Int($1) }
    let first = Self.headerByteCount + 4
    let count = min(declared, Self.maximumTagCount, (bytes.count - first) / Self.tagByteCount)
    tags = Set((0..<count).map { signature(first + $0 * Self.tagByteCount) })
  }

  /// The intent to use: colours as they are where the profile can tell, else the one it has a table
  /// for. A profile made of curves and a matrix has none, and knows colours as they are.
  var intent: Intent {
    if tags.contains("A2B1") || !tags.contains(where: { $0.hasPrefix("A2B") }) {
      return .relativeColorimetric
    }
    return tags.contains("A2B0") ? .perceptual : .saturation
  }
}
