/// The chunks of a PNG file (PNG Specification, third edition, section 5).
enum PNGChunks {
  private static let signatureByteCount = 8
  /// Bytes around the data of a chunk: their count and four letters before it, a checksum behind it.
  private static let frameByteCount = 12

  /// The first chunk before the pixels that declares more bytes than the file has.
  ///
  /// libpng asks for the memory of a chunk before it looks for its bytes: 1 GiB for a file of 57
  /// bytes.
  ///
  /// - Parameter read: the bytes of the file from an offset on, at most so many.
  /// - Returns: the chunk's name; `nil` if every such chunk is whole.
  static func cutChunk(
    inFileOf byteCount: Int, _ read: (_ offset: Int, _ byteCount: Int) -> [UInt8]
  ) -> String? {
    var offset = signatureByteCount
    while let chunk = head(read(offset, 8)), chunk.name != "IDAT" {
      offset += frameByteCount + chunk.dataByteCount
      if offset > byteCount { return chunk.name }
    }
    return nil
  }

  /// - Returns: `nil` for what no chunk begins with (section 5.4: the name has four letters).
  private static func head(_ bytes: [UInt8]) -> (name: String, dataByteCount: Int)? {
    let name = String(decoding: bytes.dropFirst(4), as: UTF8.self)
    guard bytes.count == 8, name.allSatisfy({ $0.isASCII && $0.isLetter }) else { return nil }
    return (name, bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) })
  }
}
