import ImgModel

/// Reads the header of a bitmap of Windows or OS/2 ([MS-WMF] section 2.2.2.2 and following; OS/2
/// Presentation Manager, "BITMAPINFOHEADER2"): in a file of its own, or in an icon.
struct BitmapFacts {
  static let fileHeaderByteCount = 14
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

  var headerByteCount: Int { fields.count }

  var isUncompressed: Bool { encoding == Self.uncompressed }

  private static let uncompressed = "uncompressed"

  private var encoding: String? {
    let isOS2 = [16, 64].contains(fields.count)
    return switch compression {
    case 3 where isOS2: "huffman"
    case 4 where isOS2: "rle"
    case 0, 3, 6: Self.uncompressed
    case 1, 2: "rle"
    case 4: "jpeg"
    case 5: "png"
    default: nil
    }
  }

  // MARK: - The colour profile

  private var colourSpace: Int { fields.count >= 108 ? fields.u32(56) : 0 }

  /// Where the profile lies in a file of its own; `nil` if there is none. Offsets count from the
  /// header's first byte ([MS-WMF] section 2.2.2.5).
  var profile: Range<Int>? {
    guard colourSpace == Self.embeddedProfile, fields.count >= 120, fields.u32(116) > 0 else {
      return nil
    }
    let start = Self.fileHeaderByteCount + fields.u32(112)
    return start..<start + fields.u32(116)
  }

  private func readProfile(
    of window: ByteWindow, into facts: inout PictureFacts
  ) throws(FactsError) {
    if let profile {
      facts.profileDescription = try ICCDescription.text(
        in: window.part(at: profile.lowerBound, count: profile.count))
    }
    switch colourSpace {
    case Self.sRGB, Self.windowsColourSpace:
      facts.codePoints = .sRGB
      facts.colours = ColourDescription(.sRGB, as: .standard)
    default: break
    }
  }
}

/// Where the rows of a bitmap lie in a file. Each begins at a multiple of four bytes, counted from the
/// first one.
package struct BitmapRows {
  /// Where all rows end, if they are there.
  package let end: Int
  /// Rows that are whole in the file.
  package let presentCount: Int
  private let start: Int
  /// Without the padding, which the last row may lack.
  private let byteCount: Int
  private let stride: Int

  /// - Parameters:
  ///   - start: of the first row. There may be no such byte in the file.
  ///   - height: rows that there should be.
  package init(at start: Int, width: Int, bitCount: Int, height: Int, inFileOf fileByteCount: Int) {
    self.start = start
    byteCount = (width * bitCount + 7) / 8
    stride = (width * bitCount + 31) / 32 * 4
    end = start + height * stride
    let rest = fileByteCount - start
    presentCount = rest < byteCount ? 0 : min(height, (rest - byteCount) / stride + 1)
  }

  /// Where the bytes of a row lie.
  package subscript(index: Int) -> Range<Int> {
    start + index * stride..<start + index * stride + byteCount
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
    let entries = try entries(in: window).sorted { $0.rank > $1.rank }
    var largest: PictureFacts?
    for entry in entries where (largest?.pixelCount ?? 0) < entry.pixelCount {
      let found = try picture(window.part(from: entry.offset), extent)
      if (largest?.pixelCount ?? 0) < found.pixelCount { largest = found }
    }
    guard var facts = largest else { throw .invalid("an icon without pictures") }
    facts.pictureCount = try pictureCount(in: window)
    return facts
  }

  private static func pictureCount(in window: ByteWindow) throws(FactsError) -> Int {
    try window.fields(at: 0, count: headerByteCount, order: .littleEndian).u16(4)
  }

  static func entries(in window: ByteWindow) throws(FactsError) -> [Entry] {
    let count = min(try pictureCount(in: window), maximumEntryCount)
    let directory = try window.fields(
      at: headerByteCount, count: count * entryByteCount, order: .littleEndian)
    return (0..<count).map { Entry(directory, at: $0 * entryByteCount) }
  }

  /// What the directory says of a picture.
  struct Entry {
    let pixelCount: Int
    let byteCount: Int
    let offset: Int

    fileprivate init(_ directory: BinaryFields, at start: Int) {
      let sides = [directory.u8(start), directory.u8(start + 1)].map { $0 == 0 ? 256 : $0 }
      pixelCount = sides[0] * sides[1]
      byteCount = directory.u32(start + 8)
      offset = directory.u32(start + 12)
    }

    /// By pixels, then by bytes: a cursor has the place of its tip where an icon has its colours.
    fileprivate var rank: (Int, Int) { (pixelCount, byteCount) }
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
