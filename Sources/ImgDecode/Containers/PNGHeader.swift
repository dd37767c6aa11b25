/// What a PNG says of its pixels (PNG Specification, third edition, section 11.2.1).
struct PNGHeader {
  let width: Int
  let height: Int
  /// Bits of a pixel, of all its channels together.
  let bitCount: Int

  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  static let byteCount = 26
  private static let largestSide = Int(Int32.max)

  /// - Parameter file: the first ``byteCount`` bytes, or all.
  /// - Returns: `nil` if they are no beginning of a PNG.
  init?(_ file: [UInt8]) {
    guard file.count >= Self.byteCount, file.starts(with: Self.signature),
      file[12..<16].elementsEqual("IHDR".utf8)
    else { return nil }
    let numbers = BigEndianBytes(file)
    width = numbers.unsigned(at: 16)
    height = numbers.unsigned(at: 20)
    let sides = 1...Self.largestSide
    guard sides.contains(width), sides.contains(height) else { return nil }
    // By the colour type: gray, colours, indexes, gray and colours with an alpha channel.
    let channelCounts: [UInt8: Int] = [0: 1, 2: 3, 3: 1, 4: 2, 6: 4]
    guard let channelCount = channelCounts[file[25]] else { return nil }
    bitCount = Int(file[24]) * channelCount
  }
}
