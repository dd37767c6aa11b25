import ImgModel

/// Reads a JPEG XL file: a bare codestream, or boxes around it (ISO/IEC 18181-2).
struct JXLFacts {
  private static let bareSignature = [UInt8]([0xFF, 0x0A])

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard try window.bytes(at: 0, count: 2) != bareSignature else {
      return facts(of: try JXLHeader(window))
    }
    var facts: PictureFacts?
    var metadata: [ISOMediaBox] = []
    var boxes = ISOMediaBoxes(window)
    while let box = try boxes.next() {
      switch box.type {
      case "jxlc" where facts == nil: facts = self.facts(of: try JXLHeader(box.payload))
      // A part of the codestream behind its number.
      case "jxlp" where facts == nil:
        facts = self.facts(of: try JXLHeader(box.payload.part(from: 4)))
      case "Exif", "xml ", "brob": metadata.append(box)
      default: break
      }
      if extent == .header, let facts { return facts }
    }
    guard var facts else { throw .truncated }
    for box in metadata.prefix(64) { try read(box, into: &facts) }
    return facts
  }

  private static func facts(of header: JXLHeader) -> PictureFacts {
    var facts = PictureFacts(format: .jxl, width: header.width, height: header.height)
    facts.setOrientation(header.orientation)
    facts.bitsPerSample = header.bitsPerSample
    facts.bands = (header.isGray ? 1 : 3) + header.extraChannelCount
    facts.hasAlpha = header.hasAlpha
    facts.colourModel = header.isGray ? .gray : header.isXYB ? .xyb : .rgb
    facts.codePoints = header.codePoints
    facts.colours =
      header.hasProfile
      ? ColourDescription(profileBeside: nil) : header.codePoints.map { ColourDescription($0) }
    facts.isAnimated = header.animation != nil
    facts.loopCount = header.animation?.loopCount
    if header.animation == nil { facts.frameCount = 1 }
    return facts
  }

  /// The orientation of the codestream counts, and not that of the metadata.
  private static func read(
    _ box: ISOMediaBox, into facts: inout PictureFacts
  ) throws(FactsError) {
    switch box.type {
    case "Exif" where facts.exif == nil:
      guard let offset = try box.payload.fieldsIfInside(at: 0, count: 4)?.u32(0) else { return }
      try EXIFBlock(box.payload.part(from: 4 + offset))?.read(into: &facts)
    case "xml " where facts.xmp == nil: facts.xmp = try XMPFacts(in: box.payload)
    case "brob":
      guard let name = try box.payload.fieldsIfInside(at: 0, count: 4)?.name(0) else { return }
      facts.compressedMetadata = (facts.compressedMetadata ?? []) + [name]
    default: break
    }
  }
}

/// The header of a JPEG XL codestream (ISO/IEC 18181-1 annex D).
struct JXLHeader {
  struct Animation {
    /// 0 means forever.
    let loopCount: Int
  }

  private enum ExtraChannel {
    static let alpha = 0
    static let spotColour = 2
    static let colourFilter = 5
  }

  /// Files have a handful of channels besides the colours.
  private static let maximumExtraChannelCount = 256

  let width: Int
  let height: Int
  private(set) var orientation = 1
  private(set) var animation: Animation?
  private(set) var bitsPerSample = 8
  private(set) var hasAlpha = false
  private(set) var extraChannelCount = 0
  private(set) var isXYB = true
  private(set) var isGray = false
  private(set) var codePoints: ColourCodePoints?
  private(set) var hasProfile = false

  /// - Parameter window: begins with the signature.
  init(_ window: ByteWindow) throws(FactsError) {
    guard try window.fields(at: 0, count: 2).u16(0) == 0xFF0A else {
      throw .invalid("no codestream of JPEG XL")
    }
    var bits = LeastBitsFirst(window, from: 2)
    (width, height) = try Self.size(&bits)
    try readMetadata(&bits)
  }

  // MARK: - Size

  private static func size(
    _ bits: inout LeastBitsFirst
  ) throws(FactsError) -> (width: Int, height: Int) {
    let isInEights = try bits.flag()
    let height = try side(&bits, isInEights: isInEights)
    let ratio = try bits.bits(3)
    guard ratio > 0 else { return (try side(&bits, isInEights: isInEights), height) }
    return (width(height: height, ratio: ratio), height)
  }

  private static func side(
    _ bits: inout LeastBitsFirst, isInEights: Bool
  ) throws(FactsError) -> Int {
    guard !isInEights else { return (try bits.bits(5) + 1) * 8 }
    return try bits.number(
      (.bits(9, plus: 1), .bits(13, plus: 1), .bits(18, plus: 1), .bits(30, plus: 1)))
  }

  private static func width(height: Int, ratio: Int) -> Int {
    let ratios = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)]
    let (numerator, denominator) = ratios[ratio - 1]
    return height * numerator / denominator
  }

  private static func skipPreview(_ bits: inout LeastBitsFirst) throws(FactsError) {
    let isInEights = try bits.flag()
    let choices:
      (LeastBitsFirst.Choice, LeastBitsFirst.Choice, LeastBitsFirst.Choice, LeastBitsFirst.Choice) =
        isInEights
        ? (.value(16), .value(32), .bits(5, plus: 1), .bits(9, plus: 33))
        : (.bits(6, plus: 1), .bits(8, plus: 65), .bits(10, plus: 321), .bits(12, plus: 1_345))
    _ = try bits.number(choices)
    if try bits.bits(3) == 0 { _ = try bits.number(choices) }
  }

  // MARK: - Metadata

  private mutating func readMetadata(_ bits: inout LeastBitsFirst) throws(FactsError) {
    guard try !bits.flag() else {
      codePoints = .sRGB
      return
    }
    if try bits.flag() { try readExtraFields(&bits) }
    bitsPerSample = try Self.bitDepth(&bits)
    // Whether 16 bits are enough for a decoder.
    _ = try bits.flag()
    extraChannelCount = try bits.number(
      (.value(0), .value(1), .bits(4, plus: 2), .bits(12, plus: 1)))
    guard extraChannelCount <= Self.maximumExtraChannelCount else {
      throw .unsupported("JPEG XL of \(extraChannelCount) extra channels")
    }
    for _ in 0..<extraChannelCount { try readExtraChannel(&bits) }
    isXYB = try bits.flag()
    try readColours(&bits)
  }

  private mutating func readExtraFields(_ bits: inout LeastBitsFirst) throws(FactsError) {
    orientation = try bits.bits(3) + 1
    // The size at which the picture is meant to be shown.
    if try bits.flag() { _ = try Self.size(&bits) }
    if try bits.flag() { try Self.skipPreview(&bits) }
    guard try bits.flag() else { return }
    // Ticks per second as a fraction, then the count, then whether frames have time codes.
    _ = try bits.number((.value(100), .value(1_000), .bits(10, plus: 1), .bits(30, plus: 1)))
    _ = try bits.number((.value(1), .value(1_001), .bits(8, plus: 1), .bits(10, plus: 1)))
    animation = Animation(
      loopCount: try bits.number((.value(0), .bits(3), .bits(16), .bits(32))))
    _ = try bits.flag()
  }

  private static func bitDepth(_ bits: inout LeastBitsFirst) throws(FactsError) -> Int {
    guard try bits.flag() else {
      return try bits.number((.value(8), .value(10), .value(12), .bits(6, plus: 1)))
    }
    let count = try bits.number((.value(32), .value(16), .value(24), .bits(6, plus: 1)))
    _ = try bits.bits(4)
    return count
  }

  private mutating func readExtraChannel(_ bits: inout LeastBitsFirst) throws(FactsError) {
    guard try !bits.flag() else {
      hasAlpha = true
      return
    }
    let type = try bits.enumeration()
    _ = try Self.bitDepth(&bits)
    // How much smaller the channel is.
    _ = try bits.number((.value(0), .value(3), .value(4), .bits(3, plus: 1)))
    let nameByteCount = try bits.number(
      (.value(0), .bits(4), .bits(5, plus: 16), .bits(10, plus: 48)))
    for _ in 0..<nameByteCount { _ = try bits.bits(8) }
    switch type {
    case ExtraChannel.alpha:
      hasAlpha = true
      _ = try bits.flag()
    case ExtraChannel.spotColour: for _ in 0..<4 { _ = try bits.bits(16) }
    case ExtraChannel.colourFilter:
      _ = try bits.number((.value(1), .bits(2), .bits(4, plus: 3), .bits(8, plus: 19)))
    default: break
    }
  }

  // MARK: - Colours

  private static let gray = 1
  private static let xyb = 2
  private static let custom = 2
  private static let d65 = 1
  /// The primaries of DCI P3. H.273 has another number for them where white is D65.
  private static let p3 = 11
  private static let displayP3 = 12

  /// The enumerations are those of ITU-T H.273, as far as it has them.
  private mutating func readColours(_ bits: inout LeastBitsFirst) throws(FactsError) {
    guard try !bits.flag() else {
      codePoints = .sRGB
      return
    }
    hasProfile = try bits.flag()
    let space = try bits.enumeration()
    isGray = space == Self.gray
    guard !hasProfile, space <= Self.gray else { return }
    let white = try bits.enumeration()
    if white == Self.custom { try Self.skipChromaticities(&bits, count: 1) }
    var primaries = 1
    if !isGray {
      primaries = try bits.enumeration()
      if primaries == Self.custom { try Self.skipChromaticities(&bits, count: 3) }
    }
    let isGamma = try bits.flag()
    guard !isGamma, white == Self.d65, primaries != Self.custom else { return }
    if primaries == Self.p3 { primaries = Self.displayP3 }
    codePoints = ColourCodePoints(
      primaries: primaries, transfer: try bits.enumeration(), matrix: 0, isFullRange: true)
  }

  private static func skipChromaticities(
    _ bits: inout LeastBitsFirst, count: Int
  ) throws(FactsError) {
    for _ in 0..<2 * count {
      _ = try bits.number(
        (
          .bits(19), .bits(19, plus: 524_288), .bits(20, plus: 1_048_576),
          .bits(21, plus: 2_097_152)
        ))
    }
  }
}

/// Bits of a JPEG XL codestream: the least significant bit of a byte comes first (ISO/IEC 18181-1
/// section B.2).
struct LeastBitsFirst {
  /// How a number is written: two bits say which of four ways it is.
  enum Choice {
    case value(Int)
    /// So many bits, and what is added to them.
    case bits(Int, plus: Int = 0)
  }

  private let window: ByteWindow
  /// In bits.
  private var position: Int

  /// - Parameter start: the offset of the first byte.
  init(_ window: ByteWindow, from start: Int) {
    self.window = window
    position = start * 8
  }

  /// A number of up to 32 bits.
  mutating func bits(_ count: Int) throws(FactsError) -> Int {
    let first = position / 8
    let byteCount = (position + count + 7) / 8 - first
    let bytes = try window.fields(at: first, count: byteCount, order: .littleEndian)
    defer { position += count }
    let all = bytes.number(at: 0, count: byteCount) >> UInt64(position % 8)
    return Int(all & (1 << UInt64(count) - 1))
  }

  mutating func flag() throws(FactsError) -> Bool { try bits(1) == 1 }

  mutating func number(
    _ choices: (Choice, Choice, Choice, Choice)
  ) throws(FactsError) -> Int {
    let choice: Choice
    switch try bits(2) {
    case 0: choice = choices.0
    case 1: choice = choices.1
    case 2: choice = choices.2
    default: choice = choices.3
    }
    switch choice {
    case .value(let value): return value
    case .bits(let count, let addend): return try bits(count) + addend
    }
  }

  /// A value of an enumeration.
  mutating func enumeration() throws(FactsError) -> Int {
    try number((.value(0), .value(1), .bits(4, plus: 2), .bits(6, plus: 18)))
  }
}
