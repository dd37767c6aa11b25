import ImgModel

/// Reads the pictures in an icon or a cursor of Windows, which are one picture in several sizes. The
/// facts are those of the largest.
struct IconFacts {
  private static let headerByteCount = 6
  private static let entryByteCount = 16
  /// Icons have a dozen. Entries behind these do not count.
  private static let maximumEntryCount = 256
  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The directory tells which picture is the largest, and that picture's own header has the last word:
  /// a side of 256 pixels or more has the number 0 in the directory. Others are read only if they may
  /// be larger after all.
  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    let head = try window.fields(at: 0, count: headerByteCount, order: .littleEndian)
    let count = min(head.u16(4), maximumEntryCount)
    let directory = try window.fields(
      at: headerByteCount, count: count * entryByteCount, order: .littleEndian)
    let entries = (0..<count).map { Entry(directory, at: $0 * entryByteCount) }
      .sorted { $0.rank > $1.rank }
    var largest: PictureFacts?
    for entry in entries where (largest?.pixelCount ?? 0) < entry.pixelCount {
      let found = try picture(window.part(from: entry.offset), extent)
      if (largest?.pixelCount ?? 0) < found.pixelCount { largest = found }
    }
    guard var facts = largest else { throw .invalid("an icon without pictures") }
    facts.pictureCount = head.u16(4)
    return facts
  }

  /// What the directory says of a picture.
  private struct Entry {
    let pixelCount: Int
    let byteCount: Int
    let offset: Int

    init(_ directory: BinaryFields, at start: Int) {
      let sides = [directory.u8(start), directory.u8(start + 1)].map { $0 == 0 ? 256 : $0 }
      pixelCount = sides[0] * sides[1]
      byteCount = directory.u32(start + 8)
      offset = directory.u32(start + 12)
    }

    /// By pixels, then by bytes: a cursor has the place of its tip where an icon has its colours.
    var rank: (Int, Int) { (pixelCount, byteCount) }
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
  /// Sides are below 2³¹, so that it cannot overflow.
  fileprivate var pixelCount: Int { width * height }

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
    facts.chromaticities = chromaticities
    facts.colours = colours
    facts.frameCount = 1
    facts.isAnimated = false
    return facts
  }
}
