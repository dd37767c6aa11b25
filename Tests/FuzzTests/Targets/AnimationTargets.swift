import ImgFacts
import ImgSniff

@testable import ImgDecode

/// Animations, as far as this program reads them itself.
extension FuzzTarget {
  static let animations = [
    // Checksums would hide what is behind them.
    FuzzTarget("apng", seeds: [apng]) { run(apng: withChecksums($0)) },
    FuzzTarget("apng-chunks", seeds: [apng]) { run(apng: $0) },
    FuzzTarget("gif-frames", seeds: [gif(disposal: 8), gif(disposal: 12)]) { file in
      precondition(canDecode, "libvips does not start")
      let size = ThumbnailGeometry.Size(width: 4, height: 3)
      var check = GIFFrameCheck(of: WholeBytes(file))
      for _ in 0..<3 { try? check.advance() }
      var coverage = GIFCoverage(of: WholeBytes(file), on: size)
      for _ in 0..<3 { coverage.advance() }
      guard let frame = try? FrameCanvas(size).image().withoutAlpha(),
        let shown = try? coverage.applied(to: frame)
      else { return }
      precondition(shown.size == size, "a mask does not fit the canvas")
    },
  ]

  private static let maximumPixelCount = 1 << 12
  private static let maximumFrameCount = 16

  private static func run(apng file: [UInt8]) {
    precondition(canDecode, "libvips does not start")
    guard let header = PNGHeader(file), header.width <= maximumPixelCount,
      header.width * header.height <= maximumPixelCount,
      let count = APNGFile.frameCount(in: WholeBytes(file)), count <= maximumFrameCount
    else { return }
    unsafe file.withUnsafeBufferPointer { buffer in
      guard let frames = try? APNGFrames(unsafe PictureInput(buffer)) else { return }
      var found = 0
      while let frame = try? frames.next() {
        found += 1
        precondition(
          frame.width == header.width && frame.height == header.height,
          "a frame is not the whole canvas")
      }
      precondition(found <= count, "there are more frames than declared")
    }
  }

  // MARK: - Seeds

  /// Two frames in gray: one of 3 × 2 pixels, one of 1 × 1.
  private static let apng =
    PNGHeader.signature + chunk("IHDR", [0, 0, 0, 3, 0, 0, 0, 2, 8, 0, 0, 0, 0])
    + chunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0])
    + chunk("fcTL", [0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2] + [UInt8](repeating: 0, count: 14))
    + chunk("IDAT", stored([0, 1, 2, 3, 0, 4, 5, 6]))
    + chunk(
      "fcTL",
      [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 1, 0, 9, 1, 1])
    + chunk("fdAT", [0, 0, 0, 2] + stored([0, 7])) + chunk("IEND", [])

  static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    let named = Array(name.utf8) + data
    return bigEndian(data.count) + named + checksum(of: named)
  }

  /// A zlib stream (RFC 1950) that holds bytes as they are.
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    let count = UInt8(bytes.count)
    let low = bytes.reduce(1) { $0 + Int($1) }
    let high = bytes.reduce((1, 0)) { ($0.0 + Int($1), $0.1 + $0.0 + Int($1)) }.1
    return [0x78, 0x01, 1, count, 0, ~count, 0xFF] + bytes + bigEndian(high << 16 | low)
  }

  private static func gif(disposal: UInt8) -> [UInt8] {
    let frame: [UInt8] = [0x2C, 1, 0, 1, 0, 2, 0, 2, 0, 0, 2, 1, 0, 0]
    return Array("GIF89a".utf8) + [4, 0, 3, 0, 0, 0, 0, 0x21, 0xF9, 4, disposal, 0, 0, 0, 0] + frame
      + frame + [0x3B]
  }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }

  private static func checksum(of bytes: [UInt8]) -> [UInt8] {
    var sum = CRC32()
    sum.add(bytes.span)
    return bigEndian(Int(sum.value))
  }

  /// The file with the checksums that its chunks should have.
  static func withChecksums(_ file: [UInt8]) -> [UInt8] {
    var repaired = file
    var chunks = PNGChunks(ByteWindow(WholeBytes(file)))
    while let chunk = try? chunks.next(), chunk.range.upperBound <= file.count {
      let named = Array(file[chunk.range.lowerBound + 4..<chunk.dataRange.upperBound])
      repaired.replaceSubrange(
        chunk.dataRange.upperBound..<chunk.range.upperBound, with: checksum(of: named))
    }
    return repaired
  }
}
