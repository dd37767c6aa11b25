import ImgModel

/// Reads the blocks of a GIF. Frames have no index, so that all of them take nearly the whole file.
struct GIFFacts {
  /// The label of an extension.
  private static let application = 0xFF

  /// Four for each frame at most.
  private static let maximumBlockCount = 1 << 18
  /// Of a colour profile: 255 bytes each.
  private static let maximumSubBlockCount = 4_096
  /// Bytes behind an XMP packet, with which decoders find its end.
  private static let xmpTrailerByteCount = 258

  private let window: ByteWindow
  private let extent: FactsExtent
  private var blocks: GIFBlocks
  private var facts: PictureFacts
  private var delays: [Double] = []
  /// Of the next frame, in milliseconds.
  private var delay = 0
  private var loopCount: Int?

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent, _ toleratesCut: Bool
  ) throws(FactsError) -> PictureFacts {
    var reader = try GIFFacts(window, extent)
    guard extent > .header else { return reader.facts }
    do throws(FactsError) {
      try reader.readBlocks()
    } catch {
      guard toleratesCut, error == .truncated else { throw error }
      reader.finishCut()
    }
    return reader.facts
  }

  private init(_ window: ByteWindow, _ extent: FactsExtent) throws(FactsError) {
    blocks = try GIFBlocks(window)
    guard blocks.width > 0, blocks.height > 0 else { throw .invalid("a canvas without pixels") }
    (self.window, self.extent) = (window, extent)
    facts = PictureFacts(format: .gif, width: blocks.width, height: blocks.height)
    facts.bands = 1
    facts.bitsPerSample = blocks.globalIndexBitCount ?? 8
    facts.colourModel = .palette
    facts.encoding = "lzw"
  }

  private mutating func readBlocks() throws(FactsError) {
    for _ in 0..<Self.maximumBlockCount {
      guard let block = try blocks.next() else { return try finish() }
      switch block {
      case .control(let control):
        delay = control.delay * 10
        if delays.isEmpty { facts.hasAlpha = control.transparentIndex != nil }
      case .extension(Self.application, let offset): try readApplication(at: offset)
      case .extension: break
      case .frame(let frame):
        if delays.isEmpty { facts.isInterlaced = frame.isInterlaced }
        guard extent == .all else {
          facts.loopCount = loopCount
          return
        }
        guard delays.count < FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
        delays.append(Double(delay))
        delay = 0
      }
    }
    throw .unsupported("GIF of more than \(Self.maximumBlockCount) blocks")
  }

  private mutating func finish() throws(FactsError) {
    guard !delays.isEmpty else { throw .invalid("no frame") }
    facts.isAnimated = delays.count > 1
    setFrames()
  }

  /// Whether frames follow a single one that is before the cut is unknown.
  private mutating func finishCut() {
    guard !delays.isEmpty else { return }
    facts.isAnimated = delays.count > 1 ? true : nil
    setFrames()
  }

  private mutating func setFrames() {
    facts.frameCount = delays.count
    guard delays.count > 1 else { return }
    facts.setFrames(delays: delays)
    // Without a count the frames are shown once.
    facts.loopCount = loopCount ?? 1
  }

  /// Section 26: eight characters of a name and three of a code.
  private mutating func readApplication(at offset: Int) throws(FactsError) {
    let head = try window.fields(at: offset, count: 12)
    guard head.u8(0) == 11 else { return }
    let content = offset + 12
    switch String(decoding: head.bytes.dropFirst(), as: UTF8.self) {
    case "NETSCAPE2.0", "ANIMEXTS1.0":
      let fields = try window.fields(at: content, count: 4, order: .littleEndian)
      // It counts repetitions, so that browsers show the frames once more. 0 means forever.
      if fields.u8(0) == 3, fields.u8(1) == 1 {
        loopCount = fields.u16(2) == 0 ? 0 : fields.u16(2) + 1
      }
    case "XMP DataXMP":
      // The packet stands there without lengths; what follows it leads to the end.
      let byteCount = try blocks.endOfSubBlocks(from: content) - content - Self.xmpTrailerByteCount
      if byteCount > 0 {
        facts.xmp = try XMPFacts(in: window.part(at: content, count: byteCount))
      }
    case "ICCRGBG1012":
      let parts = try blocks.subBlocks(from: content, upTo: Self.maximumSubBlockCount)
      if let profile = ByteWindow(joining: parts) {
        facts.profileDescription = try ICCDescription.text(in: profile)
      }
    default: break
    }
  }
}
