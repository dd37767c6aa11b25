import ImgModel

/// Reads the first directory of a TIFF, and counts the others.
struct TIFFFacts {
  private enum Tag {
    static let width = 256
    static let height = 257
    static let bitsPerSample = 258
    static let compression = 259
    static let photometricInterpretation = 262
    static let samplesPerPixel = 277
    static let extraSamples = 338
    static let xmp = 700
    static let iptc = 33_723
    static let photoshop = 34_377
    static let profile = 34_675
  }

  private static let compressions: [Int: String] = [
    1: "uncompressed", 2: "ccitt rle", 3: "ccitt group 3", 4: "ccitt group 4", 5: "lzw",
    6: "old jpeg", 7: "jpeg", 8: "deflate", 32_773: "packbits", 32_946: "deflate",
    34_712: "jpeg 2000", 34_925: "lzma", 50_000: "zstd", 50_001: "webp", 50_002: "jpeg xl",
  ]
  private static let models: [Int: PictureFacts.ColourModel] = [
    0: .gray, 1: .gray, 2: .rgb, 3: .palette, 4: .gray, 5: .cmyk, 6: .ycbcr, 8: .lab, 9: .lab,
    10: .lab,
  ]

  private let file: TIFFFile
  private let first: TIFFDirectory

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard let file = try TIFFFile(window),
      let first = try file.directory(at: file.firstDirectoryOffset)
    else { throw .invalid("no directory") }
    let reader = TIFFFacts(file: file, first: first)
    var facts = try reader.header()
    if extent > .header { try reader.addMetadata(to: &facts) }
    if extent == .all { facts.frameCount = try reader.pageCount() }
    return facts
  }

  private init(file: TIFFFile, first: TIFFDirectory) {
    (self.file, self.first) = (file, first)
  }

  private func header() throws(FactsError) -> PictureFacts {
    guard let width = try first.firstNumber(Tag.width), width > 0,
      let height = try first.firstNumber(Tag.height), height > 0
    else { throw .invalid("the first directory has no size") }
    var facts = PictureFacts(format: .tiff, width: width, height: height)
    facts.setOrientation(try EXIFBlock(file, first).orientation())
    // Defaults of TIFF 6.0 section 8.
    let bands = try first.firstNumber(Tag.samplesPerPixel) ?? 1
    facts.bands = bands
    facts.bitsPerSample = try first.firstNumber(Tag.bitsPerSample) ?? 1
    let compression = try first.firstNumber(Tag.compression) ?? 1
    facts.encoding = Self.compressions[compression] ?? "compression \(compression)"
    let interpretation = try first.firstNumber(Tag.photometricInterpretation)
    facts.colourModel = interpretation.flatMap { Self.models[$0] }
    // 1 and 2 are transparency, 0 is unknown (section 18).
    let extra = try first.numbers(Tag.extraSamples) ?? []
    facts.hasAlpha = extra.contains { $0 == 1 || $0 == 2 }
    facts.isAnimated = false
    return facts
  }

  private func addMetadata(to facts: inout PictureFacts) throws(FactsError) {
    let block = EXIFBlock(file, first)
    try block.read(into: &facts)
    facts.thumbnail = try block.thumbnail()
    if let window = window(of: Tag.profile) {
      facts.profileDescription = try ICCDescription.text(in: window)
    }
    if let window = window(of: Tag.xmp) { facts.xmp = try XMPFacts(in: window) }
    if let window = window(of: Tag.iptc) { facts.iptc = try IPTCRecord.datasets(in: window) }
    if facts.iptc == nil, let window = window(of: Tag.photoshop),
      let record = try PhotoshopResources.iptcRecord(in: window)
    {
      facts.iptc = try IPTCRecord.datasets(in: record)
    }
  }

  private func window(of tag: Int) -> ByteWindow? {
    first.entry(tag).flatMap { first.window(of: $0) }
  }

  /// Directories are chained. One that refers to an earlier one ends the chain.
  private func pageCount() throws(FactsError) -> Int {
    var seen: Set = [file.firstDirectoryOffset]
    var next = try file.offset(after: first)
    while let offset = next, seen.insert(offset).inserted {
      guard seen.count <= FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
      next = try file.offset(afterDirectoryAt: offset)
    }
    return seen.count
  }
}
