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
