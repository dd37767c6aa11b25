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
  private let bytes: [UInt8]
  /// Where the data of each tag lies.
  private let tags: [String: Range<Int>]

  private static let headerByteCount = 128
  private static let tagByteCount = 12
  /// Profiles have some twenty.
  private static let maximumTagCount = 256

  /// - Returns: `nil` when the bytes are too few for a profile.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.headerByteCount + 4 else { return nil }
    let numbers = BigEndianBytes(bytes)
    let signature = { (offset: Int) in String(decoding: bytes[offset..<offset + 4], as: UTF8.self) }
    colourSpace =
      switch signature(16) {
      case "GRAY": .gray
      case "RGB ": .rgb
      case "CMYK": .cmyk
      default: nil
      }
    let declared = numbers.unsigned(at: Self.headerByteCount)
    let first = Self.headerByteCount + 4
    let count = min(declared, Self.maximumTagCount, (bytes.count - first) / Self.tagByteCount)
    var tags: [String: Range<Int>] = [:]
    for entry in 0..<count {
      let place = first + entry * Self.tagByteCount
      let (start, length) = (numbers.unsigned(at: place + 4), numbers.unsigned(at: place + 8))
      // A tag without data counts as one that is there, with nothing to read.
      let isInside = start <= bytes.count && length <= bytes.count - start
      tags[signature(place)] = isInside ? start..<start + length : 0..<0
    }
    self.bytes = bytes
    self.tags = tags
  }

  /// The data of a tag; empty if there is none.
  func data(of tag: String) -> [UInt8] { tags[tag].map { Array(bytes[$0]) } ?? [] }

  /// The intent to use: colours as they are where the profile can tell, else the one it has a table
  /// for. A profile made of curves and a matrix has none, and knows colours as they are.
  var intent: Intent {
    if tags["A2B1"] != nil || !hasTables { return .relativeColorimetric }
    return tags["A2B0"] != nil ? .perceptual : .saturation
  }

  /// Whether it maps colours by tables instead of curves and a matrix.
  var hasTables: Bool { tags.keys.contains { $0.hasPrefix("A2B") } }
}
