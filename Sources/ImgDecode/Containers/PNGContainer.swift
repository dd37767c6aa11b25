import ImgFacts

/// The chunks of a PNG file (PNG Specification, third edition, section 5).
enum PNGContainer {
  /// The same picture with its EXIF metadata once, as the specification has it (section 5.6). libvips 8.14
  /// writes it before the pixels and once more behind them. Anything but a whole PNG file is returned as
  /// it is.
  static func withoutRepeatedEXIF(_ file: [UInt8]) -> [UInt8] {
    var chunks = PNGChunks(ByteWindow(WholeBytes(file)))
    var ranges: [Range<Int>] = []
    while let chunk = try? chunks.next() {
      guard chunk.range.upperBound <= file.count else { return file }
      if chunk.name == "eXIf" { ranges.append(chunk.range) }
      if chunk.name == "IEND" { break }
    }
    var result = file
    for range in ranges.dropFirst().reversed() { result.removeSubrange(range) }
    return result
  }
}
