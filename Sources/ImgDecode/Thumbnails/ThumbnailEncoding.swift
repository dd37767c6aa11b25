import ImgModel

/// How thumbnails are written in one format.
enum ThumbnailEncoding {
  case jpeg, png, webp, avif, gif

  /// - Parameter isTransparent: whether the picture needs a format that knows transparency.
  init(_ format: Variant.Format, isTransparent: Bool) {
    self =
      switch format {
      case .auto: isTransparent ? .webp : .jpeg
      case .compatible: isTransparent ? .png : .jpeg
      case .jpeg: .jpeg
      case .png: .png
      case .webp: .webp
      case .avif: .avif
      case .gif: .gif
      }
  }

  var format: ImageFormat {
    switch self {
    case .jpeg: .jpeg
    case .png: .png
    case .webp: .webp
    case .avif: .avif
    case .gif: .gif
    }
  }

  var holdsTransparency: Bool { self != .jpeg }

  /// Without metadata: the pixels are upright and in sRGB, and a thumbnail does not tell where a
  /// photograph was taken.
  func encode(
    _ image: borrowing Image, quality: Int, _ effort: EncodingEffort
  ) throws(VipsError) -> [UInt8] {
    switch self {
    case .jpeg:
      try image.encodedAsJPEG(quality: quality)
    case .png, .avif, .gif:
      try image.encoded(suffix: suffix(quality: quality, effort, "strip"))
    case .webp:
      // libvips 8.14 does not strip WebP.
      WebPContainer.strippingMetadata(
        try image.encoded(suffix: suffix(quality: quality, effort, "strip")))
    }
  }

  /// With the profile and the metadata that the image carries, as far as the format holds them.
  func encodeWithMetadata(
    _ image: borrowing Image, quality: Int, _ effort: EncodingEffort
  ) throws(VipsError) -> [UInt8] {
    let file = try image.encoded(suffix: suffix(quality: quality, effort))
    return self == .png ? PNGContainer.withoutRepeatedEXIF(file) : file
  }

  /// The encoders' options, chosen on thumbnails of 256 pixels of forty photographs:
  ///
  /// - JPEG: neither optimised nor progressive; together they save 5 % of the bytes in 2.5 times
  ///   the time.
  /// - PNG: with all row filters, level 3 of zlib is smaller by a fifth and faster than level 6
  ///   without them.
  /// - WebP: effort 2 takes half the time of 4, the default, for 3 % more bytes.
  /// - AVIF: effort 2 takes a quarter of the time of 4, the default, and no more bytes.
  private func suffix(quality: Int, _ effort: EncodingEffort, _ others: String...) -> String {
    let isUsual = effort == .usual
    let (name, options) =
      switch self {
      case .jpeg: ("jpg", ["Q=\(quality)"])
      case .png: ("png", isUsual ? ["compression=3", "filter=all"] : ["compression=1"])
      case .webp: ("webp", ["Q=\(quality)", isUsual ? "effort=2" : "effort=0"])
      case .avif: ("avif", ["Q=\(quality)", isUsual ? "effort=2" : "effort=0"])
      case .gif: ("gif", [isUsual ? "effort=4" : "effort=1"])
      }
    return ".\(name)[\((options + others).joined(separator: ","))]"
  }
}
