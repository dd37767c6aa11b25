import CJPEG
import Glibc

/// How a thumbnail becomes a JPEG: baseline, with the standard tables, without metadata.
struct JPEGEncoding {
  let quality: Int
  /// Along both sides, 1 or 2.
  let pixelsPerChromaSample: Int

  /// From which quality on chroma has as many samples as luma, as libvips has it.
  private static let fullChromaQuality = 90

  init(quality: Int, hasChroma: Bool) {
    self.quality = quality
    pixelsPerChromaSample = hasChroma && quality < Self.fullChromaQuality ? 2 : 1
  }

  /// - Parameter encode: one of libjpeg's ways to encode; returns `false` on failure.
  /// - Returns: the encoded bytes; `nil` on failure.
  func bytes(encode: (inout img_jpeg_encoder) -> Bool) -> [UInt8]? {
    var encoder = unsafe img_jpeg_encoder()
    defer { unsafe free(encoder.bytes) }
    guard unsafe encode(&encoder), let bytes = unsafe encoder.bytes else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: encoder.byte_count))
  }
}
