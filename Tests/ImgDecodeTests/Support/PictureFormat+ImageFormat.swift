import ImgModel
import TestPictures

extension PictureFormat {
  /// What the sniffer is to say of pictures made in this flavour.
  var imageFormat: ImageFormat {
    switch self {
    case .jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG: .jpeg
    case .png, .interlacedPNG, .grayPNG, .sixteenBitPNG, .displayP3PNG: .png
    case .webp, .losslessWebP: .webp
    case .gif: .gif
    case .tiff, .grayTIFF, .cmykTIFF: .tiff
    case .avif: .avif
    case .heif: .heif
    case .jxl: .jxl
    case .bmp: .bmp
    case .ico: .ico
    case .pnm: .pnm
    }
  }
}
