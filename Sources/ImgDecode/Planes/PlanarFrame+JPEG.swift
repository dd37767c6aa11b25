import CJPEG

extension PlanarFrame {
  /// From which quality on chroma has as many samples as luma, as libvips has it.
  private static let fullChromaQuality = 90

  /// The thumbnail as a baseline JPEG without metadata.
  ///
  /// - Throws: ``DecodeError/outOfMemory``.
  func thumbnail(
    to geometry: ThumbnailGeometry, from orientation: Orientation, quality: Int
  ) throws(DecodeError) -> [UInt8] {
    let isChromaHalved = planes.count > 1 && quality < Self.fullChromaQuality
    let pixelsPerChromaSample = isChromaHalved ? 2 : 1
    return try resized(
      to: geometry, from: orientation, pixelsPerChromaSample: pixelsPerChromaSample
    ).encoded(pixelsPerChromaSample: pixelsPerChromaSample, quality: quality)
  }

  private func encoded(pixelsPerChromaSample: Int, quality: Int) throws(DecodeError) -> [UInt8] {
    var encoder = unsafe img_jpeg_encoder()
    defer { unsafe free(encoder.bytes) }
    let blocks = unsafe planes.map { unsafe $0.blocks }
    let (width, height) = (planes[0].columns.sampleCount, planes[0].rows.sampleCount)
    // Its only error is a lack of memory, as its input is ours.
    guard
      unsafe img_jpeg_encode_planes(
        &encoder, blocks, Int32(planes.count), Int32(width), Int32(height),
        Int32(pixelsPerChromaSample), Int32(quality)),
      let bytes = unsafe encoder.bytes
    else { throw .outOfMemory }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: encoder.byte_count))
  }
}
