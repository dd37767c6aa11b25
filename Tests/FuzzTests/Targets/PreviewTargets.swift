import ImgFacts

@testable import ImgDecode

/// Pictures whose end has not arrived.
extension FuzzTarget {
  static let previews = [
    // Checksums would hide what is behind them.
    FuzzTarget("png-preview", seeds: [interlacedPNG]) { run(interlacedPNG: withChecksums($0)) },
    FuzzTarget("png-preview-chunks", seeds: [interlacedPNG]) { run(interlacedPNG: $0) },
    FuzzTarget("gif-preview", seeds: [interlacedGIF]) { file in
      show(file) { (input) throws(DecodeError) in try GIFPart(input) }
    },
    FuzzTarget("preview-prospect", seeds: [interlacedPNG, interlacedGIF, scans]) { file in
      guard case .now(let byteCount) = PreviewProspect(of: file.span) else { return }
      precondition(byteCount <= file.count, "what is shown has arrived")
    },
  ]

  private static let maximumPixelCount = 1 << 12

  private static func run(interlacedPNG file: [UInt8]) {
    show(file) { (input) throws(DecodeError) in try InterlacedPNG(input) }
  }

  private static func show(
    _ file: [UInt8], _ open: (PictureInput) throws(DecodeError) -> any OpenPicture
  ) {
    precondition(canDecode, "libvips does not start")
    unsafe file.withUnsafeBufferPointer { buffer in
      guard let picture = try? open(unsafe PictureInput(buffer)),
        // The decoding of more pixels only takes time.
        picture.header.stored.pixelCount <= maximumPixelCount,
        let frame = try? picture.firstFrame(for: .init(width: 1, height: 1)).inMemory()
      else { return }
      precondition(frame.size == picture.header.stored, "a frame has another size than its header")
    }
  }

  // MARK: - Seeds

  /// 3 × 2 pixels in gray: three passes of one pixel, and one of a row.
  private static let interlacedPNG =
    PNGHeader.signature + chunk("IHDR", [0, 0, 0, 3, 0, 0, 0, 2, 8, 0, 0, 0, 1])
    + chunk("IDAT", stored([0, 1, 0, 2, 0, 3, 0, 4, 5, 6])) + chunk("IEND", [])

  /// 2 × 2 pixels of two colours: a clear code, four indexes, and the end, of 3 bits each.
  private static let interlacedGIF: [UInt8] =
    Array("GIF89a".utf8) + [2, 0, 2, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
    + [0x21, 0xF9, 4, 1, 0, 0, 1, 0] + [0x2C, 0, 0, 0, 0, 2, 0, 2, 0, 0x40, 2]
    + [3, 0x44, 0x02, 0x05, 0, 0x3B]

  /// The markers of a progressive JPEG with two scans.
  private static let scans: [UInt8] =
    [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC2, 0, 4, 8, 0] + [UInt8](repeating: 1, count: 8)
    + [0xFF, 0xDA, 0, 4, 1, 0, 5, 6, 0xFF, 0, 7, 0xFF, 0xDA, 0, 4, 1, 0, 5, 0xFF, 0xD9]
}
