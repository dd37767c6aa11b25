/// The RIFF file around a WebP picture (RFC 9649 section 2).
enum WebPContainer {
  /// Bytes before the first chunk: "RIFF", the byte count of what follows, "WEBP".
  private static let fileHeaderByteCount = 12
  /// Bytes before a chunk's payload: four letters, the payload's byte count.
  private static let chunkHeaderByteCount = 8

  /// The same picture without EXIF, XMP and colour profile. Anything but a whole WebP file is
  /// returned as it is.
  static func strippingMetadata(_ file: [UInt8]) -> [UInt8] {
    guard let chunks = chunks(of: file) else { return file }
    var body: [UInt8] = []
    for chunk in chunks where !["EXIF", "XMP ", "ICCP"].contains(name(of: chunk)) {
      var kept = Array(chunk)
      // The flags of the extended header say what is in the file (section 2.7.1): keep the bits of
      // transparency (0x10) and animation (0x02).
      if name(of: chunk) == "VP8X" { kept[chunkHeaderByteCount] &= 0x12 }
      body += kept
    }
    let byteCount = UInt32(body.count + 4)
    let size = (0..<4).map { UInt8(truncatingIfNeeded: byteCount >> (8 * $0)) }
    return Array("RIFF".utf8) + size + Array("WEBP".utf8) + body
  }

  /// The chunks with their headers, each padded to an even number of bytes; `nil` when one is cut.
  private static func chunks(of file: [UInt8]) -> [ArraySlice<UInt8>]? {
    guard file.starts(with: "RIFF".utf8), file.dropFirst(8).starts(with: "WEBP".utf8) else {
      return nil
    }
    var chunks: [ArraySlice<UInt8>] = []
    var start = fileHeaderByteCount
    while start < file.count {
      guard file.count - start >= chunkHeaderByteCount else { return nil }
      let payloadByteCount = file[start + 4..<start + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
      let end = start + chunkHeaderByteCount + payloadByteCount + payloadByteCount % 2
      guard end <= file.count, payloadByteCount > 0 else { return nil }
      chunks.append(file[start..<end])
      start = end
    }
    return chunks
  }

  private static func name(of chunk: ArraySlice<UInt8>) -> String {
    String(decoding: chunk.prefix(4), as: UTF8.self)
  }
}
