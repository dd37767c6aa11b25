import ImgModel

/// How much of a picture a decode must read.
enum DecodeExtent {
  /// All of it. Damage is an error.
  case whole
  /// What can be read of a damaged picture. It is an error if that is nothing. Memory that the
  /// decoder did not write never shows: an earlier picture may have used it.
  case readablePart
}

extension ImageFormat {
  /// Whether its decoder can read a part of a damaged picture. The others decode a frame as a whole
  /// or not at all.
  var isDecodedInPart: Bool {
    switch self {
    case .jpeg, .png, .gif, .tiff, .bmp, .ico, .pnm: true
    case .webp, .heif, .avif, .jxl, .svg, .jp2: false
    }
  }
}
