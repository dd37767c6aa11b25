import ImgModel

/// The blocks of a GIF (GIF89a section 14) up to its trailer.
package struct GIFBlocks {
  package enum Block {
    case frame(Frame)
    case control(GraphicControl)
    /// Its label, and where its sub-blocks begin.
    case `extension`(label: Int, offset: Int)
  }

  /// What is said of the next frame (section 23).
  package struct GraphicControl {
    /// In hundredths of a second.
    let delay: Int
    /// The index of the colour that is not shown; `nil` if all are.
    package let transparentIndex: Int?
    /// What becomes of the frame's area before the next frame is drawn: 2, it becomes transparent; 3,
    /// it becomes what it was before; else it stays.
    package let disposal: Int
  }

  /// Where a frame lies on the canvas (section 20).
  package struct Frame {
    package let left: Int
    package let top: Int
    package let width: Int
    package let height: Int
    package let isInterlaced: Bool
    /// Where its own colours lie; `nil` if it has those of the file.
    package let colourTable: Range<Int>?
    /// Where its compressed pixels begin.
    package let dataOffset: Int
  }

  private enum Introducer {
    static let frame = 0x2C
    static let `extension` = 0x21
    /// The label of an extension.
    static let graphicControl = 0xF9
  }

  private static let screenDescriptorEnd = 13
  private static let chunkByteCount = 4_096

  private let window: ByteWindow
  /// Where the next block begins, or the sub-blocks in front of it.
  private var offset: Int
  private var isAtSubBlocks = false
  package let width: Int
  package let height: Int
  /// Bits of an index into the global colour table; `nil` if there is none.
  let globalIndexBitCount: Int?
  /// Where the colours lie of frames that have none of their own.
  package let globalColourTable: Range<Int>?

  /// Reads the screen descriptor (section 18).
  package init(_ window: ByteWindow) throws(FactsError) {
    let screen = try window.fields(at: 0, count: Self.screenDescriptorEnd, order: .littleEndian)
    (width, height) = (screen.u16(6), screen.u16(8))
    globalIndexBitCount = Self.indexBitCount(flags: screen.u8(10))
    globalColourTable = Self.table(at: Self.screenDescriptorEnd, flags: screen.u8(10))
    offset = Self.screenDescriptorEnd + Self.tableByteCount(flags: screen.u8(10))
    self.window = window
  }

  /// - Returns: `nil` at the trailer, and at what no block begins with.
  package mutating func next() throws(FactsError) -> Block? {
    if isAtSubBlocks { offset = try endOfSubBlocks(from: offset) }
    isAtSubBlocks = false
    switch try window.fields(at: offset, count: 1).u8(0) {
    case Introducer.frame:
      let fields = try window.fields(at: offset, count: 10, order: .littleEndian)
      let colourTable = Self.table(at: offset + 10, flags: fields.u8(9))
      let dataOffset = offset + 10 + Self.tableByteCount(flags: fields.u8(9))
      // A byte of the compression comes before the sub-blocks.
      offset = dataOffset + 1
      isAtSubBlocks = true
      return .frame(
        Frame(
          left: fields.u16(1), top: fields.u16(3), width: fields.u16(5), height: fields.u16(7),
          isInterlaced: fields.u8(9) & 0x40 != 0, colourTable: colourTable, dataOffset: dataOffset))
    case Introducer.extension:
      let label = try window.fields(at: offset + 1, count: 1).u8(0)
      offset += 2
      isAtSubBlocks = true
      return label == Introducer.graphicControl
        ? .control(try graphicControl()) : .extension(label: label, offset: offset)
    default: return nil
    }
  }

  /// Whether the file ends where a block could begin.
  var isAtEndOfFile: Bool { !isAtSubBlocks && window.isEndOfFile(offset) }

  /// Where the pixels end of the frame that was read last.
  package func endOfFrame() throws(FactsError) -> Int { try endOfSubBlocks(from: offset) }

  /// The only sub-block of that extension.
  private func graphicControl() throws(FactsError) -> GraphicControl {
    let fields = try window.fields(at: offset, count: 5, order: .littleEndian)
    let flags = fields.u8(1)
    return GraphicControl(
      delay: fields.u16(2), transparentIndex: flags & 1 != 0 ? fields.u8(4) : nil,
      disposal: flags >> 2 & 0x07)
  }

  /// The contents of sub-blocks, at most so many.
  func subBlocks(from start: Int, upTo maximumCount: Int) throws(FactsError) -> [ByteWindow] {
    var blocks: [ByteWindow] = []
    var offset = start
    while blocks.count < maximumCount {
      let byteCount = try window.fields(at: offset, count: 1).u8(0)
      guard byteCount > 0 else { break }
      blocks.append(window.part(at: offset + 1, count: byteCount))
      offset += 1 + byteCount
    }
    return blocks
  }

  /// Each sub-block is preceded by its length; one of no length ends them (section 15).
  func endOfSubBlocks(from start: Int) throws(FactsError) -> Int {
    var offset = start
    var chunkStart = start
    var chunk: [UInt8] = []
    while true {
      if offset >= chunkStart + chunk.count {
        chunk = try self.chunk(at: offset)
        chunkStart = offset
      }
      let byteCount = Int(chunk[offset - chunkStart])
      offset += 1 + byteCount
      if byteCount == 0 { return offset }
    }
  }

  /// Many bytes at once, but no more than are at hand: a single one is enough to go on.
  private func chunk(at offset: Int) throws(FactsError) -> [UInt8] {
    do throws(FactsError) {
      let chunk = try window.bytes(at: offset, upTo: Self.chunkByteCount)
      if !chunk.isEmpty { return chunk }
    } catch {
      guard case .needsBytes = error else { throw error }
    }
    return try window.fields(at: offset, count: 1).bytes
  }

  /// A flag, and the exponent of the number of colours, less 1 (section 18).
  private static func indexBitCount(flags: Int) -> Int? {
    flags & 0x80 == 0 ? nil : flags & 0x07 + 1
  }

  private static func table(at offset: Int, flags: Int) -> Range<Int>? {
    flags & 0x80 == 0 ? nil : offset..<offset + tableByteCount(flags: flags)
  }

  private static func tableByteCount(flags: Int) -> Int {
    indexBitCount(flags: flags).map { 3 << $0 } ?? 0
  }
}

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

  /// Whether frames follow a single one that is before the cut is unknown, unless nothing but the trailer
  /// is missing.
  private mutating func finishCut() {
    guard !delays.isEmpty else { return }
    facts.isAnimated = delays.count > 1 ? true : blocks.isAtEndOfFile ? false : nil
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
