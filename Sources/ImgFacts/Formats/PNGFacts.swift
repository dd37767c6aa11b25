import CZlib
import ImgModel

/// The chunks of a PNG file (PNG Specification, third edition, section 5).
package struct PNGChunks {
  package struct Chunk {
    package let name: String
    let offset: Int
    package let data: ByteWindow
    /// As the file declares it.
    package let dataByteCount: Int
    /// Where the data lies in the file, if that is not cut.
    package var dataRange: Range<Int> { offset + 8..<offset + 8 + dataByteCount }
    /// Where the whole chunk lies, with its name before the data and its checksum behind it.
    package var range: Range<Int> { offset..<dataRange.upperBound + 4 }
  }

  private static let signatureByteCount = 8
  /// Bytes around the data of a chunk: their count and four letters before it, a checksum behind it.
  private static let frameByteCount = 12

  private let window: ByteWindow
  private var offset = signatureByteCount

  /// - Parameter window: a PNG file.
  package init(_ window: ByteWindow) {
    self.window = window
  }

  /// - Returns: `nil` for what no chunk begins with (section 5.4: the name has four letters).
  package mutating func next() throws(FactsError) -> Chunk? {
    let head = try window.fields(at: offset, count: 8)
    guard head.bytes.dropFirst(4).allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) }) else {
      return nil
    }
    let chunk = Chunk(
      name: head.name(4), offset: offset, data: window.part(at: offset + 8, count: head.u32(0)),
      dataByteCount: head.u32(0))
    offset += Self.frameByteCount + head.u32(0)
    return chunk
  }

  /// Whether a file that ends early lacks nothing but pixels and the mark of the end.
  static func isCutInPixels(_ window: ByteWindow) -> Bool {
    var chunks = PNGChunks(window)
    var last: Chunk?
    while let chunk = try? chunks.next() { last = chunk }
    return last?.name == "IDAT"
  }

  /// The first chunk before the pixels that declares more bytes than the file has.
  ///
  /// libpng asks for the memory of a chunk before it looks for its bytes: 1 GiB for a file of 57
  /// bytes.
  ///
  /// - Parameter source: a whole file.
  /// - Returns: the chunk's name; `nil` if every such chunk is whole.
  package static func cutChunk(in source: any ByteSource) -> String? {
    var chunks = PNGChunks(ByteWindow(source))
    while let chunk = try? chunks.next(), chunk.name != "IDAT" {
      if let end = source.knownByteCount, chunks.offset > end { return chunk.name }
    }
    return nil
  }
}

/// Reads the chunks of a PNG: those before the pixels, and all for the whole extent.
struct PNGFacts {
  /// Two for each frame at most; files of many small IDAT chunks have some ten thousand.
  private static let maximumChunkCount = 1 << 17
  /// More than a profile or a packet has.
  private static let maximumInflatedByteCount = 1 << 20
  private static let maximumCompressedByteCount = 1 << 20

  private let extent: FactsExtent
  private var facts: PictureFacts
  private var delays: [Double] = []
  private var declaredFrameCount: Int?
  private var hasProfile = false
  private var isStandard = false

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    var chunks = PNGChunks(window)
    guard let first = try chunks.next(), first.name == "IHDR" else {
      throw .invalid("the first chunk is not IHDR")
    }
    var reader = try PNGFacts(header: first.data, extent)
    for _ in 0..<maximumChunkCount {
      guard let chunk = try chunks.next() else {
        throw .invalid("no chunk begins where one should")
      }
      if chunk.name == "IEND" || chunk.name == "IDAT" && extent < .all {
        return reader.finished()
      }
      try reader.read(chunk)
    }
    throw .unsupported("PNG of more than \(maximumChunkCount) chunks")
  }

  /// Section 11.2.1.
  private init(header: ByteWindow, _ extent: FactsExtent) throws(FactsError) {
    self.extent = extent
    let fields = try header.fields(at: 0, count: 13)
    guard (1...Int(Int32.max)).contains(fields.u32(0)), (1...Int(Int32.max)).contains(fields.u32(4))
    else { throw .invalid("a picture without pixels") }
    facts = PictureFacts(format: .png, width: fields.u32(0), height: fields.u32(4))
    facts.bitsPerSample = fields.u8(8)
    facts.isInterlaced = fields.u8(12) != 0
    let type = fields.u8(9)
    let models: [Int: (PictureFacts.ColourModel, Int)] = [
      0: (.gray, 1), 2: (.rgb, 3), 3: (.palette, 1), 4: (.gray, 2), 6: (.rgb, 4),
    ]
    guard let (model, bands) = models[type] else { throw .invalid("unknown colour type \(type)") }
    facts.colourModel = model
    facts.bands = bands
    facts.hasAlpha = type & 4 != 0
    facts.isAnimated = false
  }

  private mutating func read(_ chunk: PNGChunks.Chunk) throws(FactsError) {
    switch chunk.name {
    case "tRNS": facts.hasAlpha = true
    case "acTL": try readAnimation(chunk.data)
    case "fcTL": try readFrame(chunk.data)
    case "gAMA":
      let gamma = try chunk.data.fieldsIfInside(at: 0, count: 4)?.u32(0)
      facts.gamma = gamma.flatMap { $0 > 0 ? Double($0) / 100_000 : nil }
    case "cHRM": facts.chromaticities = try chromaticities(chunk.data)
    case "cICP":
      facts.codePoints = try chunk.data.fieldsIfInside(at: 0, count: 4).map {
        ColourCodePoints(
          primaries: $0.u8(0), transfer: $0.u8(1), matrix: $0.u8(2), isFullRange: $0.u8(3) != 0)
      }
    case "sRGB": isStandard = true
    case "eXIf":
      guard let block = try EXIFBlock(chunk.data) else { return }
      facts.setOrientation(try block.orientation())
      if extent > .header { try block.read(into: &facts) }
    case "iCCP":
      hasProfile = true
      if extent > .header { try readProfile(chunk.data) }
    case "iTXt" where extent > .header && facts.xmp == nil: try readText(chunk.data)
    case "zTXt" where extent > .header: try readCompressedText(chunk.data)
    default: break
    }
  }

  private func finished() -> PictureFacts {
    var facts = facts
    facts.colours = colours
    if facts.codePoints == nil, isStandard { facts.codePoints = .sRGB }
    // Frames of a file without acTL mean nothing (section 11.3.6.1).
    if let count = declaredFrameCount {
      if extent == .all { facts.setFrames(delays: delays) } else { facts.frameCount = count }
    } else {
      facts.frameCount = 1
    }
    return facts
  }

  // MARK: - Colours

  /// Section 4.3. Browsers, too, ignore cHRM without gAMA, and code points of anything but red, green and
  /// blue, which section 11.3.2.6 forbids.
  private var colours: ColourDescription? {
    if let codePoints = facts.codePoints, codePoints.matrix == 0, codePoints.describesColours {
      return ColourDescription(codePoints)
    }
    if hasProfile { return ColourDescription(profileBeside: nil) }
    if isStandard { return ColourDescription(.sRGB, as: .standard) }
    return facts.gamma.map { ColourDescription(gamma: $0) }
  }

  /// Section 11.3.2.1: in units of 1/100,000.
  private func chromaticities(_ data: ByteWindow) throws(FactsError) -> Chromaticities? {
    guard let fields = try data.fieldsIfInside(at: 0, count: 32) else { return nil }
    let place = { (offset: Int) in
      Chromaticities.Place(
        Double(fields.u32(offset)) / 100_000, Double(fields.u32(offset + 4)) / 100_000)
    }
    return Chromaticities(white: place(0), red: place(8), green: place(16), blue: place(24))
  }

  // MARK: - Animation

  private mutating func readAnimation(_ data: ByteWindow) throws(FactsError) {
    guard let fields = try data.fieldsIfInside(at: 0, count: 8), fields.u32(0) > 0 else { return }
    declaredFrameCount = fields.u32(0)
    facts.isAnimated = true
    facts.loopCount = fields.u32(4)
  }

  /// A delay is a fraction of a second; without a denominator, of a hundredth (section 11.3.6.2).
  private mutating func readFrame(_ data: ByteWindow) throws(FactsError) {
    guard extent == .all, let fields = try data.fieldsIfInside(at: 20, count: 4) else { return }
    guard delays.count < FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
    let denominator = fields.u16(2) == 0 ? 100 : fields.u16(2)
    delays.append(Double(fields.u16(0) * 1_000) / Double(denominator))
  }

  // MARK: - Compressed and plain text

  private static let xmpKeyword = "XML:com.adobe.xmp"
  private static let rawProfilePrefix = "Raw profile type "

  /// A name, NUL, the method of compression, the profile (section 11.3.2.3).
  private mutating func readProfile(_ data: ByteWindow) throws(FactsError) {
    guard let end = try data.bytes(at: 0, upTo: 80).firstIndex(of: 0),
      let profile = try inflated(data.part(from: end + 2))
    else { return }
    facts.profileDescription = try ICCDescription.text(in: ByteWindow(decoded: profile))
  }

  /// A keyword, NUL, whether it is compressed, how, a language, NUL, the keyword in that language,
  /// NUL, the text (section 11.3.3.4).
  private mutating func readText(_ data: ByteWindow) throws(FactsError) {
    let keyword = Array("\(Self.xmpKeyword)\0".utf8)
    guard try data.bytes(at: 0, count: keyword.count) == keyword,
      let flag = try data.fieldsIfInside(at: keyword.count, count: 2)?.u8(0)
    else { return }
    var start = keyword.count + 2
    for _ in 0..<2 {
      guard let end = try data.bytes(at: start, upTo: 256).firstIndex(of: 0) else { return }
      start += end + 1
    }
    let text = data.part(from: start)
    facts.xmp = flag == 0 ? try XMPFacts(in: text) : try inflated(text).flatMap { XMPFacts($0) }
  }

  /// A keyword, NUL, how the text is compressed, the text (section 11.3.3.3).
  private mutating func readCompressedText(_ data: ByteWindow) throws(FactsError) {
    let head = try data.bytes(at: 0, upTo: 80)
    guard let end = head.firstIndex(of: 0) else { return }
    let keyword = String(decoding: head[..<end], as: UTF8.self)
    let isXMP = keyword == Self.xmpKeyword
    guard isXMP || keyword.hasPrefix(Self.rawProfilePrefix),
      let text = try inflated(data.part(from: end + 2))
    else { return }
    // libvips writes XMP so, which belongs into an iTXt chunk.
    if isXMP, facts.xmp == nil { facts.xmp = XMPFacts(text) }
    guard !isXMP, let profile = PNGRawProfile.bytes(ofText: text) else { return }
    try readRawProfile(profile, ofType: keyword.dropFirst(Self.rawProfilePrefix.count))
  }

  private mutating func readRawProfile(
    _ profile: [UInt8], ofType type: Substring
  ) throws(FactsError) {
    let window = ByteWindow(decoded: profile)
    switch type {
    // Viewers do not obey an orientation in there.
    case "exif", "APP1":
      let start = profile.starts(with: "Exif\0\0".utf8) ? 6 : 0
      if facts.exif == nil { try EXIFBlock(window.part(from: start))?.read(into: &facts) }
    case "iptc":
      let record = try PhotoshopResources.iptcRecord(in: window) ?? window
      facts.iptc = try IPTCRecord.datasets(in: record)
    case "xmp": if facts.xmp == nil { facts.xmp = XMPFacts(profile) }
    default: break
    }
  }

  private func inflated(_ window: ByteWindow) throws(FactsError) -> [UInt8]? {
    guard window.byteCount <= Self.maximumCompressedByteCount,
      let bytes = try window.bytes(at: 0, count: window.byteCount)
    else { return nil }
    return ZlibData.inflated(bytes[...], upTo: Self.maximumInflatedByteCount)
  }
}

/// Metadata that ImageMagick writes as hexadecimal text: a line break, a name, a line break, the
/// count of bytes, and lines of digits.
enum PNGRawProfile {
  private static let maximumByteCount = 1 << 20

  /// - Parameter text: of a chunk whose keyword begins with "Raw profile type".
  static func bytes(ofText text: [UInt8]) -> [UInt8]? {
    let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: 2)
    guard lines.count == 3,
      let count = Int(String(decoding: lines[1].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)),
      (1...maximumByteCount).contains(count)
    else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in lines[2] where bytes.count < count {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map({ UInt8($0) }) else {
        continue
      }
      if let first = high { bytes.append(first << 4 | value) }
      high = high == nil ? value : nil
    }
    return bytes.count == count ? bytes : nil
  }
}

/// Decompresses zlib data (RFC 1950), as PNG chunks hold it.
package enum ZlibData {
  /// - Returns: what comes out up to the first error, at most `maximumByteCount` bytes; `nil` when
  ///   that is nothing.
  package static func inflated(_ data: ArraySlice<UInt8>, upTo maximumByteCount: Int) -> [UInt8]? {
    let inflated = unsafe Inflation.output(of: data, upTo: maximumByteCount) { stream in
      unsafe img_inflate_init_zlib(stream)
    }
    return inflated?.isEmpty == false ? inflated : nil
  }
}

/// The checksum of a PNG chunk (PNG Specification, third edition, section 5.5).
package struct CRC32 {
  package private(set) var value: UInt32 = 0

  package init() {}

  package mutating func add(_ bytes: Span<UInt8>) {
    value = unsafe bytes.withUnsafeBufferPointer { buffer in
      UInt32(truncatingIfNeeded: unsafe crc32_z(UInt(value), buffer.baseAddress, buffer.count))
    }
  }
}
