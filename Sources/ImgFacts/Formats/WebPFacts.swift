import ImgModel

/// The chunks of a WebP file (RFC 9649 section 2), which is a RIFF file, or of a frame in it.
package struct WebPChunks {
  package struct Chunk {
    package let name: String
    /// Where the chunk lies with its header and its padding.
    package let range: Range<Int>
    package let payloadByteCount: Int
    let payload: ByteWindow
  }

  /// Bytes before the first chunk: "RIFF", the byte count of what follows, "WEBP".
  package static let fileHeaderByteCount = 12
  /// Bytes before a chunk's payload: four letters, the payload's byte count.
  package static let chunkHeaderByteCount = 8

  private let window: ByteWindow
  private var offset: Int
  /// Where the last chunk ends, as the header of the file says it.
  package let end: Int

  /// The chunks of a file, as far as its header says that it goes.
  package init(file window: ByteWindow) throws(FactsError) {
    let head = try window.fields(at: 0, count: Self.fileHeaderByteCount, order: .littleEndian)
    self.init(window, from: Self.fileHeaderByteCount, end: 8 + head.u32(4))
  }

  /// The chunks between two offsets.
  package init(_ window: ByteWindow, from start: Int, end: Int) {
    (self.window, offset, self.end) = (window, start, end)
  }

  /// - Returns: `nil` at the end.
  package mutating func next() throws(FactsError) -> Chunk? {
    guard offset <= end - Self.chunkHeaderByteCount,
      let head = try window.fieldsIfInside(
        at: offset, count: Self.chunkHeaderByteCount, order: .littleEndian)
    else { return nil }
    let count = head.u32(4)
    let start = offset
    // A payload of an odd length is padded.
    offset += Self.chunkHeaderByteCount + count + count % 2
    return Chunk(
      name: head.name(0), range: start..<offset, payloadByteCount: count,
      payload: window.part(at: start + Self.chunkHeaderByteCount, count: count))
  }
}

/// Reads the chunks of a WebP file. The pixels are passed over: metadata stands behind them.
struct WebPFacts {
  private enum Flag {
    static let animation = 0x02
    static let xmp = 0x04
    static let exif = 0x08
    static let alpha = 0x10
  }

  private static let maximumChunkCount = 1 << 17
  private static let frameHeaderByteCount = 16

  private let extent: FactsExtent
  private var facts: PictureFacts?
  /// Of the extended header; 0 in a file without one.
  private var flags = 0
  private var hasBitstream = false
  private var delays: [Double] = []

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent, _ toleratesCut: Bool
  ) throws(FactsError) -> PictureFacts {
    var reader = WebPFacts(extent: extent)
    do throws(FactsError) {
      try reader.readChunks(WebPChunks(file: window))
    } catch {
      guard toleratesCut, error == .truncated, reader.facts != nil else { throw error }
    }
    return try reader.finished()
  }

  private mutating func readChunks(_ chunks: WebPChunks) throws(FactsError) {
    var chunks = chunks
    for _ in 0..<Self.maximumChunkCount {
      guard !isFinished, let chunk = try chunks.next() else { return }
      try read(chunk)
    }
    throw .unsupported("WebP of more than \(Self.maximumChunkCount) chunks")
  }

  private init(extent: FactsExtent) {
    self.extent = extent
  }

  /// Whether what follows has no facts that are asked for.
  private var isFinished: Bool {
    guard hasBitstream else { return false }
    // The orientation stands behind the pixels. Of an animation it takes a walk past all frames.
    let isAnimated = flags & Flag.animation != 0
    switch extent {
    case .header: return isAnimated || !lacksEXIF
    case .metadata: return !lacksEXIF && !lacksXMP
    case .all: return !isAnimated && !lacksEXIF && !lacksXMP
    }
  }

  private var hasReadEXIF = false
  private var lacksEXIF: Bool { flags & Flag.exif != 0 && !hasReadEXIF }
  private var lacksXMP: Bool { flags & Flag.xmp != 0 && facts?.xmp == nil }

  private mutating func read(_ chunk: WebPChunks.Chunk) throws(FactsError) {
    switch chunk.name {
    case "VP8X" where facts == nil: try readExtendedHeader(chunk.payload)
    case "VP8 ", "VP8L": try readBitstream(chunk)
    case "ANIM":
      // A background colour, then the count.
      let fields = try chunk.payload.fieldsIfInside(at: 4, count: 2, order: .littleEndian)
      if flags & Flag.animation != 0 { facts?.loopCount = fields?.u16(0) }
    case "ANMF": try readFrame(chunk.payload)
    case "ICCP" where extent > .header:
      facts?.profileDescription = try ICCDescription.text(in: chunk.payload)
    case "EXIF" where !hasReadEXIF: try readEXIF(chunk.payload)
    case "XMP " where extent > .header && facts?.xmp == nil:
      facts?.xmp = try XMPFacts(in: chunk.payload)
    default: break
    }
  }

  private func finished() throws(FactsError) -> PictureFacts {
    guard var facts else { throw .invalid("no picture in the file") }
    if flags & Flag.animation == 0 {
      facts.frameCount = 1
    } else if extent == .all {
      facts.setFrames(delays: delays)
    }
    return facts
  }

  // MARK: - Headers

  /// Section 2.7.1: flags, and the size less 1.
  private mutating func readExtendedHeader(_ payload: ByteWindow) throws(FactsError) {
    let fields = try payload.fields(at: 0, count: 10, order: .littleEndian)
    flags = fields.u8(0)
    setFacts(
      width: fields.u24(4) + 1, height: fields.u24(7) + 1, hasAlpha: flags & Flag.alpha != 0)
  }

  /// RFC 6386 section 9.1 for `VP8 `, RFC 9649 section 3.4 for `VP8L`.
  private mutating func readBitstream(_ chunk: WebPChunks.Chunk) throws(FactsError) {
    guard !hasBitstream else { return }
    if facts == nil {
      if chunk.name == "VP8L" {
        let fields = try chunk.payload.fields(at: 0, count: 5, order: .littleEndian)
        let bits = fields.u32(1)
        guard fields.u8(0) == 0x2F else { throw .invalid("no signature of VP8L") }
        setFacts(
          width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1,
          hasAlpha: bits >> 28 & 1 != 0)
      } else {
        let fields = try chunk.payload.fields(at: 0, count: 10, order: .littleEndian)
        guard fields.u24(3) == 0x2A019D, fields.u8(0) & 1 == 0 else {
          throw .invalid("no key frame of VP8")
        }
        let (width, height) = (fields.u16(6) & 0x3FFF, fields.u16(8) & 0x3FFF)
        guard width > 0, height > 0 else { throw .invalid("a picture without pixels") }
        setFacts(width: width, height: height, hasAlpha: false)
      }
    }
    setEncoding(isLossless: chunk.name == "VP8L")
  }

  private mutating func setFacts(width: Int, height: Int, hasAlpha: Bool) {
    var facts = PictureFacts(format: .webp, width: width, height: height)
    facts.hasAlpha = hasAlpha
    facts.bands = hasAlpha ? 4 : 3
    facts.bitsPerSample = 8
    facts.isAnimated = flags & Flag.animation != 0
    self.facts = facts
  }

  private mutating func setEncoding(isLossless: Bool) {
    facts?.encoding = isLossless ? "lossless" : "lossy"
    facts?.colourModel = isLossless ? .rgb : .ycbcr
    hasBitstream = true
  }

  /// Section 2.7.1.1: place and size, then the duration, then chunks of the frame.
  private mutating func readFrame(_ payload: ByteWindow) throws(FactsError) {
    guard flags & Flag.animation != 0 else { return }
    let header = try payload.fields(
      at: 0, count: Self.frameHeaderByteCount, order: .littleEndian)
    guard delays.count < FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
    delays.append(Double(header.u24(12)))
    guard !hasBitstream else { return }
    var chunks = WebPChunks(
      payload, from: Self.frameHeaderByteCount, end: payload.byteCount)
    // Transparency and unknown chunks may come first.
    for _ in 0..<16 {
      guard let chunk = try chunks.next() else { break }
      if ["VP8 ", "VP8L"].contains(chunk.name) {
        return setEncoding(isLossless: chunk.name == "VP8L")
      }
    }
    hasBitstream = true
  }

  // MARK: - Metadata

  private mutating func readEXIF(_ payload: ByteWindow) throws(FactsError) {
    hasReadEXIF = true
    // Some programs write the name of the segment of a JPEG.
    let hasName = try payload.bytes(at: 0, count: 6) == Array("Exif\0\0".utf8)
    guard let block = try EXIFBlock(payload.part(from: hasName ? 6 : 0)) else { return }
    facts?.setOrientation(try block.orientation())
    if extent > .header, var found = facts {
      try block.read(into: &found)
      facts = found
    }
  }
}
