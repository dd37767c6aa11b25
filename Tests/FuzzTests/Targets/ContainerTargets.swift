import ImgFacts

@testable import ImgDecode

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
