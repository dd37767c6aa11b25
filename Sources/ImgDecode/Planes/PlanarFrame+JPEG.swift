import CJPEG

extension PlanarFrame {
  /// The thumbnail as a JPEG.
  ///
  /// - Parameter origin: of what is kept.
  /// - Throws: ``DecodeError/outOfMemory``.
  func thumbnail(
    to geometry: ThumbnailGeometry, at origin: ThumbnailGeometry.Point,
    from orientation: Orientation, as encoding: JPEGEncoding
  ) throws(DecodeError) -> [UInt8] {
    let frame = try resized(
      to: geometry, at: origin, from: orientation,
      pixelsPerChromaSample: encoding.pixelsPerChromaSample)
    guard let bytes = frame.encoded(encoding) else { throw .outOfMemory }
    return bytes
  }

  /// - Returns: `nil` if there is no memory. There is no other error, as the planes are ours.
  private func encoded(_ encoding: JPEGEncoding) -> [UInt8]? {
    let blocks = unsafe planes.map { unsafe $0.blocks }
    let (width, height) = (planes[0].columns.sampleCount, planes[0].rows.sampleCount)
    return unsafe encoding.bytes { encoder in
      unsafe img_jpeg_encode_planes(
        &encoder, blocks, Int32(planes.count), Int32(width), Int32(height),
        Int32(encoding.pixelsPerChromaSample), Int32(encoding.quality))
    }
  }
}
