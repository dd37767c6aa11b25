import ImgModel

/// How a picture is going to become its thumbnails. The header and the request decide it, here alone.
enum DecodePlan {
  /// A JPEG's luma and chroma are resized and encoded as they are stored. That takes about a third of
  /// the time. The places are where what each thumbnail keeps begins.
  case planar(JPEGPicture, at: [ThumbnailGeometry.Point])
  /// All others become pixels.
  case general

  /// - Parameter size: what the frame is decoded for, as stored.
  /// - Throws: what a JPEG's decoder says of its header.
  init(
    for picture: any OpenPicture, decodedFor size: ThumbnailGeometry.Size,
    to geometries: [ThumbnailGeometry], as variants: [Variant]
  ) throws(DecodeError) {
    let origins = geometries.compactMap(\.keptOrigin)
    guard let jpeg = picture as? JPEGPicture, jpeg.isPlanar, origins.count == geometries.count,
      variants.allSatisfy(\.keepsPlanes),
      try PlanarSource.canGive(
        zip(geometries, variants).map { jpeg.target(of: $0, as: $1) }, of: jpeg, decodedFor: size)
    else {
      self = .general
      return
    }
    self = .planar(jpeg, at: origins)
  }
}

extension JPEGPicture {
  /// What a thumbnail is before it is cropped, if it is made from planes.
  func target(of geometry: ThumbnailGeometry, as variant: Variant) -> PlanarSource.Target {
    .init(
      size: header.oriented(geometry.scaled),
      encoding: JPEGEncoding(quality: variant.quality, hasChroma: hasChroma))
  }
}

extension Variant {
  /// Whether an opaque JPEG stays a JPEG, and its pixels as they are.
  fileprivate var keepsPlanes: Bool {
    [.auto, .compatible, .jpeg].contains(format) && keptData == .none
      && effects == Effects(background: effects.background)
  }
}
