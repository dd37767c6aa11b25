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
    return AV1SequenceHeader.isFullRange(in: configuration.dropFirst(4)) == false
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

/// The sequence header of an AV1 stream (AV1 Bitstream & Decoding Process Specification section
/// 5.5).
enum AV1SequenceHeader {
  /// Whether gray goes from 0 up to the greatest sample.
  ///
  /// - Parameter units: open bitstream units, the sequence header first, without a colour of more
  ///   than one plane.
  /// - Returns: `nil` where that cannot be told: only headers of stills are read, which leave out
  ///   what a film needs.
  static func isFullRange(in units: ArraySlice<UInt8>) -> Bool? {
    guard let first = units.first, first >> 3 & 0x0F == 1 else { return nil }
    // A byte of extension and a length of one byte may come before the header itself.
    let hasExtension = first & 0x04 != 0
    let hasLength = first & 0x02 != 0
    var bits = BitReader(units.dropFirst(1 + (hasExtension ? 1 : 0) + (hasLength ? 1 : 0)))
    guard let profile = bits.read(3), bits.read(1) == 1, bits.read(1) == 1, bits.skip(5),
      let widthBitCount = bits.read(4), let heightBitCount = bits.read(4),
      bits.skip(widthBitCount + 1), bits.skip(heightBitCount + 1),
      // Three tools of prediction, then three filters.
      bits.skip(6), let isDeep = bits.read(1)
    else { return nil }
    if profile == 2, isDeep == 1 { bits.skip(1) }
    guard bits.read(1) == 1, let isDescribed = bits.read(1) else { return nil }
    if isDescribed == 1 { bits.skip(24) }
    return bits.read(1).map { $0 == 1 }
  }
}

private struct BitReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// The next bits as a number, the first of them the most significant; `nil` behind the end.
  mutating func read(_ count: Int) -> Int? {
    guard skip(count) else { return nil }
    var value = 0
    for bit in position - count..<position {
      let isSet = bytes[bit / 8] & (0x80 >> (bit % 8)) != 0
      value = value << 1 | (isSet ? 1 : 0)
    }
    return value
  }

  @discardableResult
  mutating func skip(_ count: Int) -> Bool {
    guard position + count <= bytes.count * 8 else { return false }
    position += count
    return true
  }
}
