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
