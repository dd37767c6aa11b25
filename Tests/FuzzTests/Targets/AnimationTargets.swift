import ImgFacts
import ImgModel

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

/// The tables that say where the samples of AVIF and HEIC sequences lie.
extension FuzzTarget {
  static let sequences = [
    FuzzTarget("sequence-tables", seeds: [sequence(in: "av01"), sequence(in: "hvc1")]) { file in
      guard let sequence = try? SequenceFile(WholeBytes(file), as: .heif)?.sequence() else {
        return
      }
      precondition(sequence.frameCount > 0, "a sequence has no frame")
      precondition((1...8).contains(sequence.colours.orientation), "no such orientation")
      let colours = sequence.colours
      if let area = colours.shownArea {
        let isInside =
          area.left >= 0 && area.width > 0 && area.left <= colours.width - area.width
          && area.top >= 0 && area.height > 0 && area.top <= colours.height - area.height
        precondition(isInside, "pixels behind the edge are shown")
      }
      let alphaCount = sequence.alpha?.samples.count ?? sequence.frameCount
      precondition(alphaCount == sequence.frameCount, "a frame lacks its transparency")
    }
  ]

  private static func full(_ type: String, _ content: [UInt8]) -> [UInt8] {
    box(type, [0, 0, 0, 0] + content)
  }

  private static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

  /// Two tracks of two samples in one chunk each.
  private static func sequence(in codec: String) -> [UInt8] {
    box("ftyp", Array("msf1\0\0\0\0msf1".utf8))
      + box("moov", track(1, "pict", [], in: codec) + track(2, "auxv", [1], in: codec))
  }

  private static func track(
    _ number: UInt8, _ handler: String, _ references: [UInt8], in codec: String
  ) -> [UInt8] {
    let targets: [UInt8] = references.flatMap { [0, 0, 0, $0] as [UInt8] }
    let size: [UInt8] = [0, 64, 0, 0, 0, 64, 0, 0]
    return box(
      "trak",
      full("tkhd", zeros(8) + [0, 0, 0, number] + zeros(24) + [0, 1] + zeros(34) + size)
        + box("tref", box("auxl", targets))
        + box(
          "mdia",
          full("mdhd", zeros(8) + [0, 0, 3, 232] + zeros(8))
            + full("hdlr", zeros(4) + Array(handler.utf8) + zeros(13))
            + box("minf", box("stbl", table(in: codec)))))
  }

  private static func table(in codec: String) -> [UInt8] {
    let unit: [UInt8] = [0x21, 0, 1, 0, 2, 0x42, 1]
    let configuration = box("hvcC", zeros(21) + [3, 1] + unit)
    let kind = full("auxi", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8))
    let numbers: [UInt8] = [32, 16, 8, 4]
    let aperture = box("clap", numbers.flatMap { [0, 0, 0, $0, 0, 0, 0, 1] as [UInt8] })
    let turn = box("irot", [1]) + box("imir", [0])
    let entry = box(
      codec, zeros(24) + [0, 64, 0, 64] + zeros(50) + configuration + aperture + turn + kind)
    return full("stsd", [0, 0, 0, 1] + entry)
      + full("stts", [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 100])
      + full("stsc", [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1])
      + full("stsz", [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 9])
      + full("stco", [0, 0, 0, 1, 0, 0, 0, 8])
  }
}
