import ImgModel

/// How thumbnails are written in one format. All metadata is left out: the pixels are upright and
/// in sRGB, and a thumbnail does not tell where a photograph was taken.
enum ThumbnailEncoding {
  case jpeg, png, webp, avif

  /// - Parameter isTransparent: whether the picture needs a format that knows transparency.
  init(_ format: Variant.Format, isTransparent: Bool) {
    self =
      switch format {
      case .auto: isTransparent ? .webp : .jpeg
      case .jpeg: .jpeg
      case .png: .png
      case .webp: .webp
      case .avif: .avif
      }
  }

  var format: ImageFormat {
    switch self {
    case .jpeg: .jpeg
    case .png: .png
    case .webp: .webp
    case .avif: .avif
    }
  }

  var holdsTransparency: Bool { self != .jpeg }

  /// The encoders' options, chosen on thumbnails of 256 pixels of forty photographs:
  ///
  /// - JPEG: neither optimised nor progressive; together they save 5 % of the bytes in 2.5 times
  ///   the time.
  /// - PNG: with all row filters, level 3 of zlib is smaller by a fifth and faster than level 6
  ///   without them.
  /// - WebP: effort 2 takes half the time of 4, the default, for 3 % more bytes.
  /// - AVIF: effort 2 takes a quarter of the time of 4, the default, and no more bytes.
  func encode(_ image: borrowing Image, quality: Int) throws(VipsError) -> [UInt8] {
    switch self {
    case .jpeg:
      try image.encodedAsJPEG(quality: quality)
    case .png:
      try image.encoded(suffix: ".png[compression=3,filter=all,strip]")
    case .webp:
      // libvips 8.14 does not strip WebP.
      WebPContainer.strippingMetadata(
        try image.encoded(suffix: ".webp[Q=\(quality),effort=2,strip]"))
    case .avif:
      try image.encoded(suffix: ".avif[Q=\(quality),effort=2,strip]")
    }
  }
}
