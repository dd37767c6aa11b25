import CVips
import ImgModel

extension ImageFormat {
  /// The nickname of the libvips operation that reads this format from memory.
  var bufferLoader: String { "\(loader)_buffer" }

  /// The nickname of the one that reads it from an open file.
  var sourceLoader: String { "\(loader)_source" }

  private var loader: String {
    switch self {
    case .jpeg: "jpegload"
    case .png: "pngload"
    case .webp: "webpload"
    case .gif: "gifload"
    case .tiff: "tiffload"
    case .heif, .avif: "heifload"
    case .jxl: "jxlload"
    case .svg: "svgload"
    }
  }

  /// What the loader takes for damage. That of GIF tells only by a warning that the data of a frame
  /// ended before its last pixel.
  var strictness: VipsFailOn {
    self == .gif ? VIPS_FAIL_ON_WARNING : VIPS_FAIL_ON_ERROR
  }
}
