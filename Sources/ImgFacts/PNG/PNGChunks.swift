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
