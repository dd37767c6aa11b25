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

  var hasChroma: Bool { unsafe decoder.pointee.info.num_components > 1 }

  /// The shape that ``planarFrame(for:)`` is going to have. Nothing is decoded.
  func planarShape(for size: ThumbnailGeometry.Size) throws(DecodeError) -> PlanarShape {
    try unsafe start { unsafe img_jpeg_shape_planes($0, eighths(for: size)) }
    return PlanarShape(
      components: componentShapes.map { .init(columns: columns(of: $0), rows: rows(of: $0)) })
  }

  /// The frame, as much smaller as `size` allows.
  ///
  /// - Throws: also when the pixels show damage.
  func planarFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> PlanarFrame {
    try unsafe start { unsafe img_jpeg_start_planes($0, eighths(for: size)) }
    var planes: [Plane] = []
    for shape in componentShapes {
      planes.append(
        try Plane(
          columns: columns(of: shape), rows: rows(of: shape), rowStride: Int(shape.row_stride),
          rowCount: Int(shape.row_count)))
    }
    let blocks = unsafe planes.map { unsafe $0.blocks }
    try unsafe finish { unsafe img_jpeg_finish_planes($0, blocks) }
    return PlanarFrame(planes: planes)
  }

  /// In the scale that was asked for last.
  private var componentShapes: [img_jpeg_component] {
    (0..<(unsafe decoder.pointee.info.num_components)).map {
      unsafe img_jpeg_component_shape(decoder, $0)
    }
  }

  private func columns(of shape: img_jpeg_component) -> SampledSide {
    SampledSide(
      length: header.stored.width, sampleCount: Int(shape.width),
      pixelsPerSample: shape.pixels_per_column)
  }

  private func rows(of shape: img_jpeg_component) -> SampledSide {
    SampledSide(
      length: header.stored.height, sampleCount: Int(shape.height),
      pixelsPerSample: shape.pixels_per_row)
  }
}
