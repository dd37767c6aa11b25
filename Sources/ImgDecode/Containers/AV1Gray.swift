import ImgFacts

/// Gray AVIF pictures whose samples go from 16 to 235, as those of video: libheif widens such
/// colours, and leaves gray as it is.
enum AV1Gray {
  /// How much of a file is examined: the colour properties come before the samples.
  static let examinedByteCount = 65_536

  /// - Parameter file: the first ``examinedByteCount`` bytes, or all.
  static func isLimited(in file: [UInt8]) -> Bool {
    let properties = properties(in: file)
    // AV1 Codec ISO Media File Format Binding section 2.3.3: two bytes, then flags (0x10 is
    // `monochrome`), one more byte, and the sequence header.
    guard let configuration = properties.first(where: { $0.type == "av1C" })?.payload,
      configuration.count > 4, configuration.dropFirst(2).first.map({ $0 & 0x10 != 0 }) == true
    else { return false }
    // The property of the file goes before what the stream says (ISO/IEC 14496-12 section 12.1.5).
    let colour = properties.first { $0.type == "colr" && $0.payload.starts(with: "nclx".utf8) }
    if let colour, colour.payload.count >= 11 {
      return colour.payload.dropFirst(10).first.map { $0 & 0x80 == 0 } == true
    }
    return AV1SequenceHeader.codePoints(in: Array(configuration.dropFirst(4)))?.isFullRange == false
  }

  private static func properties(in file: [UInt8]) -> [(type: String, payload: [UInt8])] {
    guard let boxes = try? ISOMediaBox.itemProperties(in: ByteWindow(WholeBytes(file))) else {
      return []
    }
    return boxes.compactMap { box in
      let payload = try? box.payload.bytes(at: 0, count: box.payload.byteCount)
      return payload.map { (box.type, $0) }
    }
  }
}
