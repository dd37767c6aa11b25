import ImgModel

/// How a picture is going to become a thumbnail. The header and the request decide it, here alone.
enum DecodePlan {
  /// A JPEG's luma and chroma are resized and encoded as they are stored. That takes about a third
  /// of the time.
  case planar(JPEGPicture)
  /// All others become pixels in sRGB.
  case general(any OpenPicture)

  var path: DecodePath {
    switch self {
    case .planar: .planar
    case .general: .general
    }
  }

  init(for picture: any OpenPicture, to geometry: ThumbnailGeometry, as variant: Variant) {
    guard let jpeg = picture as? JPEGPicture, jpeg.isPlanar,
      [.auto, .jpeg].contains(variant.format),
      jpeg.canResamplePlanes(to: jpeg.header.oriented(geometry.scaled))
    else {
      self = .general(picture)
      return
    }
    self = .planar(jpeg)
  }
}
