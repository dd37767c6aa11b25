import ImgFacts

/// The RIFF file around a WebP picture (RFC 9649 section 2).
enum WebPContainer {
  /// The same picture without EXIF, XMP and colour profile. Anything but a whole WebP file is
  /// returned as it is.
  static func strippingMetadata(_ file: [UInt8]) -> [UInt8] {
    guard let chunks = chunks(of: file) else { return file }
    var body: [UInt8] = []
    for chunk in chunks where !["EXIF", "XMP ", "ICCP"].contains(chunk.name) {
      var kept = Array(file[chunk.range])
      // The flags of the extended header say what is in the file (section 2.7.1): keep the bits of
      // transparency (0x10) and animation (0x02).
      if chunk.name == "VP8X" { kept[WebPChunks.chunkHeaderByteCount] &= 0x12 }
      body += kept
    }
    let byteCount = UInt32(body.count + 4)
    let size = (0..<4).map { UInt8(truncatingIfNeeded: byteCount >> (8 * $0)) }
    return Array("RIFF".utf8) + size + Array("WEBP".utf8) + body
  }

  /// The chunks, each padded to an even number of bytes; `nil` when one is cut.
  private static func chunks(of file: [UInt8]) -> [WebPChunks.Chunk]? {
    guard file.starts(with: "RIFF".utf8), file.dropFirst(8).starts(with: "WEBP".utf8) else {
      return nil
    }
    // All bytes count, whatever the header says of their number.
    var reader = WebPChunks(
      ByteWindow(WholeBytes(file)), from: WebPChunks.fileHeaderByteCount, end: file.count)
    var chunks: [WebPChunks.Chunk] = []
    var end = WebPChunks.fileHeaderByteCount
    while end < file.count {
      guard let chunk = try? reader.next(), chunk.payloadByteCount > 0 else { return nil }
      end = chunk.range.upperBound
      guard end <= file.count else { return nil }
      chunks.append(chunk)
    }
    return chunks
  }
}
