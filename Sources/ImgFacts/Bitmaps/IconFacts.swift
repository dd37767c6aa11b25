import ImgModel

/// Reads the pictures in an icon or a cursor of Windows, which are one picture in several sizes. The
/// facts are those of the largest.
struct IconFacts {
  private static let headerByteCount = 6
  private static let entryByteCount = 16
  /// Icons have a dozen. Entries behind these do not count.
  private static let maximumEntryCount = 256
  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The header's count and the sizes in the directory tell which picture may be the largest. Its own
  /// header has the last word: a side of 256 pixels or more has the number 0 in the directory.
  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    let head = try window.fields(at: 0, count: headerByteCount, order: .littleEndian)
    let count = min(head.u16(4), maximumEntryCount)
    let entries = try window.fields(
      at: headerByteCount, count: count * entryByteCount, order: .littleEndian)
    let starts = (0..<count).map { $0 * entryByteCount }
    guard let largest = starts.max(by: { rank(entries, $0) < rank(entries, $1) }) else {
      throw .invalid("an icon without pictures")
    }
    var facts = try picture(
      window.part(from: entries.u32(largest + 12)), extent)
    facts.pictureCount = head.u16(4)
    return facts
  }

  /// By pixels, then by the bytes of the picture, which a cursor has no bits a pixel beside.
  private static func rank(_ entries: BinaryFields, _ start: Int) -> (Int, Int) {
    let sides = [entries.u8(start), entries.u8(start + 1)].map { $0 == 0 ? 256 : $0 }
    return (sides[0] * sides[1], entries.u32(start + 8))
  }

  /// A PNG, or a bitmap without a file header.
  private static func picture(
    _ window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard try window.bytes(at: 0, count: pngSignature.count) == pngSignature else {
      let bitmap = try BitmapFacts(window, isInIcon: true)
      var facts = PictureFacts(format: .ico, width: bitmap.width, height: bitmap.height)
      bitmap.describe(&facts)
      return facts
    }
    return try PNGFacts.facts(in: window, extent).inIcon()
  }
}

extension PictureFacts {
  /// The facts of a PNG as those of the icon that holds it.
  fileprivate func inIcon() -> PictureFacts {
    var facts = PictureFacts(format: .ico, width: width, height: height)
    facts.bands = bands
    facts.bitsPerSample = bitsPerSample
    facts.hasAlpha = hasAlpha
    facts.colourModel = colourModel
    facts.encoding = "png"
    facts.isInterlaced = isInterlaced
    facts.profileDescription = profileDescription
    facts.codePoints = codePoints
    facts.gamma = gamma
    facts.frameCount = 1
    facts.isAnimated = false
    return facts
  }
}
