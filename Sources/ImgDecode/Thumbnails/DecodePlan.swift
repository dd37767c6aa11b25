import ImgModel

/// How a picture is going to become a thumbnail. The header and the request decide it, here alone.
enum DecodePlan {
  /// A JPEG's luma and chroma are resized and encoded as they are stored, from that place on. That
  /// takes about a third of the time.
  case planar(JPEGPicture, at: ThumbnailGeometry.Point)
  /// All others become pixels.
  case general(any OpenPicture)

  init(for picture: any OpenPicture, to geometry: ThumbnailGeometry, as variant: Variant) {
    guard let jpeg = picture as? JPEGPicture, jpeg.isPlanar,
      [.auto, .jpeg].contains(variant.format), variant.effects.keepOpaquePixels,
      variant.keptData == .none, let origin = geometry.keptOrigin,
      jpeg.canResamplePlanes(to: jpeg.header.oriented(geometry.scaled))
    else {
      self = .general(picture)
      return
    }
    self = .planar(jpeg, at: origin)
  }
}

extension Effects {
  /// Whether an opaque picture stays as it is.
  fileprivate var keepOpaquePixels: Bool { self == Effects(background: background) }
}
