/// The samples of each component of a whole frame, luma first.
struct PlanarShape {
  /// The samples of one component.
  struct Component {
    let columns: SampledSide
    let rows: SampledSide
  }

  let components: [Component]

  /// Whether each component can be resampled to that of a frame of another shape.
  func canBecome(_ other: PlanarShape) -> Bool {
    zip(components, other.components).allSatisfy { one, other in
      Resampling.isPossible(from: one.columns, to: other.columns)
        && Resampling.isPossible(from: one.rows, to: other.rows)
    }
  }

  /// The frame in another size.
  ///
  /// - Parameters:
  ///   - pixelsPerChromaSample: along both sides, 1 or 2.
  func scaled(to size: ThumbnailGeometry.Size, pixelsPerChromaSample: Int) -> PlanarShape {
    scaled(to: size) { $0 == 0 ? 1 : pixelsPerChromaSample }
  }

  /// The frame in another size, with about as many samples of chroma for those of luma.
  func scaled(to size: ThumbnailGeometry.Size) -> PlanarShape {
    scaled(to: size) {
      components[$0].columns.sampleCount < components[0].columns.sampleCount ? 2 : 1
    }
  }

  private func scaled(
    to size: ThumbnailGeometry.Size, pixelsPerSample: (Int) -> Int
  ) -> PlanarShape {
    PlanarShape(
      components: components.indices.map { index in
        let pixelsPerSample = pixelsPerSample(index)
        let side = { (length: Int) in
          SampledSide(length: length, showing: 0..<length, pixelsPerSample: pixelsPerSample)
        }
        return Component(columns: side(size.width), rows: side(size.height))
      })
  }
}
