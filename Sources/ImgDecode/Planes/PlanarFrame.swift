/// A frame as luma alone, or as luma and two components of chroma, which may have fewer samples.
struct PlanarFrame {
  /// Luma first.
  let planes: [Plane]

  /// The whole frame in another size, with as many samples of chroma for those of luma.
  ///
  /// - Throws: ``DecodeError/outOfMemory``.
  func resampled(to size: ThumbnailGeometry.Size) throws(DecodeError) -> PlanarFrame {
    var resampled: [Plane] = []
    for plane in planes {
      let isHalved = plane.columns.sampleCount < planes[0].columns.sampleCount
      let side = { (length: Int) in
        SampledSide(length: length, showing: 0..<length, pixelsPerSample: isHalved ? 2 : 1)
      }
      resampled.append(
        try plane.resampled(
          columns: side(size.width), rows: side(size.height), for: Orientation(1), blockSide: 1))
    }
    return PlanarFrame(planes: resampled)
  }

  /// The frame as the thumbnail shows it, upright.
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
