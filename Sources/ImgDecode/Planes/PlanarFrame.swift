/// A frame as luma alone, or as luma and two components of chroma, which may have fewer samples.
struct PlanarFrame {
  /// Luma first.
  let planes: [Plane]

  var shape: PlanarShape {
    PlanarShape(components: planes.map { .init(columns: $0.columns, rows: $0.rows) })
  }

  /// The whole frame in a shape that it can become.
  ///
  /// - Throws: ``DecodeError/outOfMemory``.
  func resampled(to shape: PlanarShape) throws(DecodeError) -> PlanarFrame {
    var resampled: [Plane] = []
    for (plane, component) in zip(planes, shape.components) {
      resampled.append(
        try plane.resampled(
          columns: component.columns, rows: component.rows, for: Orientation(1), blockSide: 1))
    }
    return PlanarFrame(planes: resampled)
  }

  /// The frame as the thumbnail shows it, upright. The frame can become a whole one of that size; see
  /// ``PlanarShape/canBecome(_:)``.
  ///
  /// - Parameters:
  ///   - origin: of what is kept.
  ///   - pixelsPerChromaSample: along both sides, 1 or 2.
  /// - Throws: ``DecodeError/outOfMemory``.
  func resized(
    to geometry: ThumbnailGeometry, at origin: ThumbnailGeometry.Point,
    from orientation: Orientation, pixelsPerChromaSample: Int
  ) throws(DecodeError) -> PlanarFrame {
    var resized: [Plane] = []
    for (index, plane) in planes.enumerated() {
      let pixelsPerSample = index == 0 ? 1 : pixelsPerChromaSample
      let columns = SampledSide(
        length: geometry.scaled.width, showing: origin.left..<origin.left + geometry.kept.width,
        pixelsPerSample: pixelsPerSample)
      let rows = SampledSide(
        length: geometry.scaled.height, showing: origin.top..<origin.top + geometry.kept.height,
        pixelsPerSample: pixelsPerSample)
      // A group of blocks of an encoder has so many samples of this plane.
      let blockSide = 8 * pixelsPerChromaSample / pixelsPerSample
      guard orientation.isTransposed else {
        resized.append(
          try plane.resampled(columns: columns, rows: rows, for: orientation, blockSide: blockSide))
        continue
      }
      resized.append(
        try plane.resampled(columns: rows, rows: columns, for: orientation, blockSide: 1)
          .transposed(blockSide: blockSide))
    }
    return PlanarFrame(planes: resized)
  }
}
