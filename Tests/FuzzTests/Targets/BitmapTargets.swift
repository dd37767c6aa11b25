import ImgFacts

@testable import ImgDecode

/// The pictures that this program decodes itself.
extension FuzzTarget {
  static let bitmaps = [
    FuzzTarget("bmp", seeds: [bitmap(bitCount: 8), bitmap(bitCount: 24), runs, masks]) { file in
      let open = { (input, extent) throws(DecodeError) in try BitmapPicture(input, extent) }
      let whole = size(of: file, .whole, open)
      let part = size(of: file, .readablePart, open)
      precondition(whole == nil || whole == part, "a whole picture is not readable in part")
    },
    FuzzTarget("ico", seeds: [icon(24), icon(32), icon(4)]) { file in
      for extent in [DecodeExtent.whole, .readablePart] {
        _ = size(of: file, extent) { (input, extent) throws(DecodeError) in
          try IconPicture(input, extent)
        }
      }
    },
    FuzzTarget("pnm", seeds: anymaps.map { Array($0.utf8) }) { file in
      let open = { (input, extent) throws(DecodeError) in try AnymapPicture(input, extent) }
      let whole = size(of: file, .whole, open)
      let part = size(of: file, .readablePart, open)
      precondition(whole == nil || whole == part, "a whole picture is not readable in part")
    },
  ]

  /// Whether libvips was started. Images are its own.
  static let canDecode = (try? VipsRuntime.start()) != nil

  /// The decoding of more pixels only takes time.
  private static let maximumPixelCount = 1 << 16

  /// - Returns: `nil` if the picture is not decoded.
  private static func size(
    of file: [UInt8], _ extent: DecodeExtent,
    _ open: (PictureInput, DecodeExtent) throws(DecodeError) -> any OpenPicture
  ) -> ThumbnailGeometry.Size? {
    precondition(canDecode, "libvips does not start")
    return unsafe file.withUnsafeBufferPointer { buffer in
      do {
        let picture = try open(unsafe PictureInput(buffer), extent)
        let stored = picture.header.stored
        guard stored.width * stored.height <= maximumPixelCount else { return nil }
        let frame = try picture.firstFrame(for: .init(width: 1, height: 1)).inMemory()
        precondition(
          frame.width <= stored.width && frame.height <= stored.height,
          "a frame is larger than the header says")
        return stored
      } catch {
        return nil
      }
    }
  }

  // MARK: - Seeds

  private static let anymaps = [
    "P1\n3 2\n101 # row\n0 1 0", "P2 3 2 9\n1 2 3 4 5 6\n", "P3 1 2 255 1 2 3 4 5 6",
    "P4 9 2\nabcd",
    "P5 3 2 1000\nabcdefghijkl", "P6 1 2 255\nabcdef", "Pf 1 2 -1\nabcdefgh",
    "P7\nWIDTH 1\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabcdefgh",
  ]

  /// 3 × 2 pixels.
  private static func header(
    bitCount: UInt8, compression: UInt8 = 0, rowCount: UInt8 = 2, colourCount: UInt8 = 0
  ) -> [UInt8] {
    [40, 0, 0, 0, 3, 0, 0, 0, rowCount, 0, 0, 0, 1, 0, bitCount, 0, compression, 0, 0, 0]
      + [UInt8](repeating: 0, count: 12) + [colourCount, 0, 0, 0, 0, 0, 0, 0]
  }

  private static func file(_ body: [UInt8], pixelOffset: UInt8) -> [UInt8] {
    Array("BM".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, pixelOffset, 0, 0, 0] + body
  }

  private static let colours: [UInt8] = [255, 0, 0, 0, 0, 255, 0, 0]

  private static func bitmap(bitCount: UInt8) -> [UInt8] {
    let hasColours = bitCount <= 8
    let table = hasColours ? colours : []
    return file(
      header(bitCount: bitCount, colourCount: hasColours ? 2 : 0) + table
        + [UInt8](repeating: 1, count: 24), pixelOffset: UInt8(54 + table.count))
  }

  private static let runs = file(
    header(bitCount: 8, compression: 1, colourCount: 2) + colours
      + [3, 1, 0, 0, 0, 3, 1, 0, 1, 0, 0, 2, 1, 0, 0, 1], pixelOffset: 62)

  private static let masks = file(
    header(bitCount: 16, compression: 6) + [
      0, 0xF8, 0, 0, 0xE0, 7, 0, 0, 0x1F, 0, 0, 0, 0, 0, 0, 0,
    ]
      + [UInt8](repeating: 0x5A, count: 16), pixelOffset: 70)

  private static func icon(_ bitCount: UInt8) -> [UInt8] {
    let table = bitCount <= 8 ? colours : []
    let part =
      header(bitCount: bitCount, rowCount: 4, colourCount: UInt8(table.count / 4)) + table
      + [UInt8](repeating: 9, count: 32)
    return [0, 0, 1, 0, 1, 0, 3, 2, 0, 0, 1, 0, bitCount, 0] + [UInt8(part.count), 0, 0, 0]
      + [22, 0, 0, 0] + part
  }
}

/// The containers of pictures, as far as this program reads them itself.
extension FuzzTarget {
  static let containers = [
    FuzzTarget("webp-container", seeds: [riff("VP8X", Array(repeating: 0xFF, count: 10))]) { file in
      let stripped = WebPContainer.strippingMetadata(file)
      precondition(stripped.count <= file.count + 1, "a file without metadata is longer")
      precondition(
        WebPContainer.strippingMetadata(stripped) == stripped, "metadata is left in a file")
    },
    FuzzTarget("iso-media", seeds: [[0, 0, 0, 16] + Array("metaftyp".utf8) + [0, 0, 0, 8]]) {
      _ = try? ISOMediaBox.itemProperties(in: ByteWindow(WholeBytes($0)))
      _ = AV1Gray.isLimited(in: $0)
    },
    FuzzTarget("av1-sequence-header", seeds: [[0x0A, 0x0B, 0, 0, 0, 0x24, 0xCF, 0x7F]]) {
      _ = AV1SequenceHeader.codePoints(in: $0)
    },
    FuzzTarget("hevc-parameters", seeds: [[0x42, 0x01, 0x01, 0x01, 0x60, 0, 0, 3, 0x90, 0, 0, 3]]) {
      _ = HEVCSequenceParameters.codePoints(in: $0)
    },
    FuzzTarget("png-chunks", seeds: [Array(repeating: 0, count: 8) + [0, 0, 0, 4, 73, 72, 68, 82]])
    {
      _ = PNGChunks.cutChunk(in: WholeBytes($0))
    },
    FuzzTarget(
      "png-header",
      seeds: [
        PNGHeader.signature + [0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 0, 9, 0, 0, 0, 9, 8, 6]
      ]
    ) {
      _ = PNGHeader($0)
    },
    FuzzTarget(
      "svg-reader",
      seeds: [Array("<!DOCTYPE svg [<!ENTITY a 'b'>]><svg><image href='data:,&a;'/></svg>".utf8)]
    ) {
      _ = SVGReader($0, maximumElementCount: 100)
    },
    FuzzTarget("icc-profile", seeds: [Array(repeating: 0, count: 144)]) {
      _ = ICCProfile($0)?.intent
    },
    FuzzTarget(
      "jpeg-zero-holes",
      seeds: [[0xFF, 0xD8, 0xFF, 0xC4, 0, 20, 0] + Array(repeating: 1, count: 17) + [0xFF, 0xD9]]
    ) { bytes in
      unsafe bytes.withUnsafeBufferPointer { buffer in
        _ = unsafe JPEGZeroHoles.exist(in: PictureInput(buffer))
      }
    },
    FuzzTarget(
      "exif-orientation", seeds: [Array("Exif\0\0II".utf8) + [42, 0, 8, 0, 0, 0, 0, 0]]
    ) { segment in
      unsafe segment.withUnsafeBufferPointer { buffer in
        _ = unsafe EXIFOrientation.value(inSegment: buffer)
      }
    },
  ]

  private static func riff(_ name: String, _ payload: [UInt8]) -> [UInt8] {
    Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBP".utf8) + Array(name.utf8)
      + [UInt8(payload.count), 0, 0, 0] + payload
  }
}
