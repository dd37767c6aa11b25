import CJPEG

/// Luma and chroma as they are stored. They need no conversion of colours, and chroma mostly has a
/// quarter of the samples.
extension JPEGPicture {
  /// Whether its planes can be a thumbnail: in the colours of JFIF and sRGB, with whole numbers of
  /// samples of luma for each of chroma, and without damage that hides a part.
  var isPlanar: Bool {
    guard extent == .whole, isInStandardColours else { return false }
    let info = unsafe decoder.pointee.info
    switch unsafe info.jpeg_color_space {
    case JCS_GRAYSCALE: return true
    case JCS_YCbCr: return unsafe img_jpeg_has_whole_factors(decoder)
    default: return false
    }
  }

  /// Whether the planes can be resized at once to a thumbnail of that size as stored.
  ///
  /// - Parameter largest: what they are decoded for.
  func canResamplePlanes(
    to size: ThumbnailGeometry.Size, decodedFor largest: ThumbnailGeometry.Size
  ) -> Bool {
    let scale = 8.0 / Double(eighths(for: largest))
    let factors = [
      Double(header.stored.width) / Double(size.width),
      Double(header.stored.height) / Double(size.height),
    ]
    // A sample of chroma may stand for as much as two of luma.
    return factors.allSatisfy { $0 / scale <= Resampling.factors.upperBound / 2 }
  }

  /// The frame, as much smaller as `size` allows.
  ///
  /// - Throws: also when the pixels show damage.
  func planarFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> PlanarFrame {
    try unsafe start { unsafe img_jpeg_start_planes($0, eighths(for: size)) }
    var planes: [Plane] = []
    for index in 0..<(unsafe decoder.pointee.info.num_components) {
      planes.append(try plane(of: unsafe img_jpeg_component_shape(decoder, index)))
    }
    let blocks = unsafe planes.map { unsafe $0.blocks }
    try unsafe finish { unsafe img_jpeg_finish_planes($0, blocks) }
    return PlanarFrame(planes: planes)
  }

  private func plane(of shape: img_jpeg_component) throws(DecodeError) -> Plane {
    try Plane(
      columns: SampledSide(
        length: header.stored.width, sampleCount: Int(shape.width),
        pixelsPerSample: shape.pixels_per_column),
      rows: SampledSide(
        length: header.stored.height, sampleCount: Int(shape.height),
        pixelsPerSample: shape.pixels_per_row),
      rowStride: Int(shape.row_stride), rowCount: Int(shape.row_count))
  }
}
