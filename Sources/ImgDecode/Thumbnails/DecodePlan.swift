import ImgModel

/// How a picture is going to become its thumbnails. The header and the request decide it, here alone.
enum DecodePlan {
  /// A JPEG's luma and chroma are resized and encoded as they are stored. That takes about a third of
  /// the time. The places are where what each thumbnail keeps begins.
  case planar(JPEGPicture, at: [ThumbnailGeometry.Point])
  /// All others become pixels.
  case general

  /// - Parameter size: what the frame is decoded for, as stored.
  init(
    for picture: any OpenPicture, decodedFor size: ThumbnailGeometry.Size,
    to geometries: [ThumbnailGeometry], as variants: [Variant]
  ) {
    let origins = geometries.compactMap(\.keptOrigin)
    guard let jpeg = picture as? JPEGPicture, jpeg.isPlanar, origins.count == geometries.count,
      variants.allSatisfy(\.keepsPlanes),
      geometries.allSatisfy({
        PlanarSource.canGive(jpeg.header.oriented($0.scaled), of: jpeg, decodedFor: size)
      })
    else {
      self = .general
      return
    }
    self = .planar(jpeg, at: origins)
  }
}

extension Variant {
  /// Whether an opaque JPEG stays a JPEG, and its pixels as they are.
  fileprivate var keepsPlanes: Bool {
    [.auto, .jpeg].contains(format) && keptData == .none
      && effects == Effects(background: effects.background)
  }
}
