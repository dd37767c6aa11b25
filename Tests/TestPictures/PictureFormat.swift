/// An encoding in which test pictures are made, some formats in several flavours.
///
/// `displayP3PNG` carries the profile of a wide-gamut screen: its numbers mean stronger colours than
/// the same numbers in sRGB.
package enum PictureFormat: String, CaseIterable, Sendable {
  case jpeg, progressiveJPEG, grayJPEG, cmykJPEG
  case png, interlacedPNG, grayPNG, sixteenBitPNG, displayP3PNG
  case webp, losslessWebP
  case gif
  case tiff, grayTIFF, cmykTIFF
  case avif, heif
  case jxl
  case bmp, ico
  case pnm

  /// The file name suffix and options by which libvips knows it; `nil` for formats that it does not
  /// write. Where an encoder can trade size for time, the faster way is taken.
  var suffix: String? {
    switch self {
    case .jpeg, .grayJPEG, .cmykJPEG: ".jpg[Q=90]"
    case .progressiveJPEG: ".jpg[Q=90,interlace]"
    case .png, .grayPNG, .sixteenBitPNG: ".png[compression=3]"
    case .displayP3PNG: ".png[compression=3,profile=p3]"
    case .interlacedPNG: ".png[compression=3,interlace]"
    case .webp: ".webp[Q=90,effort=2]"
    case .losslessWebP: ".webp[lossless,effort=2]"
    case .gif: ".gif[effort=2]"
    case .tiff, .grayTIFF, .cmykTIFF: ".tif[compression=lzw]"
    case .avif: ".avif[Q=80,effort=1]"
    case .heif: ".heic[Q=80]"
    case .jxl: ".jxl[effort=3]"
    case .bmp, .ico: nil
    case .pnm: ".ppm"
    }
  }

  /// Whether a picture can be transparent in it.
  package var hasAlpha: Bool {
    switch self {
    case .jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG, .grayPNG, .grayTIFF, .pnm: false
    default: true
    }
  }
}
