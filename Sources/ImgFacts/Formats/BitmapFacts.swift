import ImgModel

/// Reads the header of a bitmap of Windows or OS/2 ([MS-WMF] section 2.2.2.2 and following; OS/2
/// Presentation Manager, "BITMAPINFOHEADER2"): in a file of its own, or in an icon.
struct BitmapFacts {
  private static let fileHeaderByteCount = 14
  /// Of the oldest header, of OS/2 1 and Windows 2, whose fields are shorter.
  private static let coreByteCount = 12
  /// The next are those of OS/2 2 (shortened and whole), Windows 3, two of Adobe, Windows 4 and 5.
  private static let byteCounts = [coreByteCount, 16, 64, 40, 52, 56, 108, 124]
  /// "MBED" and "LINK" as numbers: a profile in the file, and one elsewhere.
  private static let embeddedProfile = 0x4D42_4544
  private static let sRGB = 0x7352_4742
  private static let windowsColourSpace = 0x5769_6E20

  let width: Int
  /// Rows; in an icon those of the picture alone, without its mask.
  let height: Int
  /// Of a pixel.
  let bitCount: Int
  private let fields: BinaryFields
  private let compression: Int
  private let isInIcon: Bool

  /// The facts of a file.
  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    let bitmap = try BitmapFacts(window.part(from: fileHeaderByteCount), isInIcon: false)
    var facts = PictureFacts(format: .bmp, width: bitmap.width, height: bitmap.height)
    bitmap.describe(&facts)
    if extent > .header { try bitmap.readProfile(of: window, into: &facts) }
    return facts
  }

  /// - Parameters:
  ///   - window: begins with the header.
  ///   - isInIcon: whether its rows are counted together with those of the mask.
  init(_ window: ByteWindow, isInIcon: Bool) throws(FactsError) {
    let byteCount = try window.fields(at: 0, count: 4, order: .littleEndian).u32(0)
    guard Self.byteCounts.contains(byteCount) else {
      throw .invalid("a bitmap's header declares to have \(byteCount) bytes")
    }
    let fields = try window.fields(at: 0, count: byteCount, order: .littleEndian)
    let isCore = byteCount == Self.coreByteCount
    width = isCore ? fields.u16(4) : Self.signed(fields.u32(4))
    let rows = abs(isCore ? fields.u16(6) : Self.signed(fields.u32(8)))
    height = isInIcon ? rows / 2 : rows
    bitCount = fields.u16(isCore ? 10 : 14)
    compression = isCore ? 0 : fields.u32(16)
    guard width > 0, height > 0 else { throw .invalid("a picture without pixels") }
    self.fields = fields
    self.isInIcon = isInIcon
  }

  /// Rows from the upper one on are counted below zero.
  private static func signed(_ value: Int) -> Int { Int(Int32(truncatingIfNeeded: value)) }

  // MARK: - Pixels

  func describe(_ facts: inout PictureFacts) {
    let isPalette = (1...8).contains(bitCount)
    facts.colourModel = isPalette ? .palette : .rgb
    facts.bitsPerSample = isPalette ? bitCount : bitCount == 16 ? 5 : bitCount == 64 ? 16 : 8
    facts.hasAlpha = isInIcon || bitCount == 64 || alphaMask != 0
    facts.bands = isPalette ? 1 : facts.hasAlpha == true && bitCount >= 32 ? 4 : 3
    facts.encoding = encoding
    facts.frameCount = 1
    facts.isAnimated = false
  }

  /// Of 16 and 32 bits; 0 without one, and for a header that has no such field.
  private var alphaMask: Int {
    [16, 32].contains(bitCount) && fields.count >= 56 && fields.count != 64 ? fields.u32(52) : 0
  }

  private var encoding: String? {
    let isOS2 = [16, 64].contains(fields.count)
    return switch compression {
    case 3 where isOS2: "huffman"
    case 4 where isOS2: "rle"
    case 0, 3, 6: "uncompressed"
    case 1, 2: "rle"
    case 4: "jpeg"
    case 5: "png"
    default: nil
    }
  }

  // MARK: - The colour profile

  /// [MS-WMF] section 2.2.2.5: offsets count from the header's first byte.
  private func readProfile(
    of window: ByteWindow, into facts: inout PictureFacts
  ) throws(FactsError) {
    switch fields.count >= 108 ? fields.u32(56) : 0 {
    case Self.embeddedProfile where fields.count >= 120:
      facts.profileDescription = try ICCDescription.text(
        in: window.part(at: Self.fileHeaderByteCount + fields.u32(112), count: fields.u32(116)))
    case Self.sRGB, Self.windowsColourSpace:
      facts.codePoints = .sRGB
      facts.colours = ColourDescription(.sRGB, as: .standard)
    default: break
    }
  }
}

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
