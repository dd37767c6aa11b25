import CVips
import ImgModel

extension ImageFormat {
  /// The nickname of the libvips operation that reads this format from memory; `nil` for formats that
  /// it does not read.
  var loader: String? {
    switch self {
    case .jpeg: "jpegload_buffer"
    case .png: "pngload_buffer"
    case .webp: "webpload_buffer"
    case .gif: "gifload_buffer"
    case .tiff: "tiffload_buffer"
    case .heif, .avif: "heifload_buffer"
    case .jxl: "jxlload_buffer"
    case .svg: "svgload_buffer"
    case .jp2: "jp2kload_buffer"
    case .bmp, .ico, .pnm: nil
    }
  }

  /// What the loader takes for damage. That of GIF tells only by a warning that the data of a frame
  /// ended before its last pixel, and it clears a frame before it decodes it. The others stop at the
  /// first row that they cannot decode, because they would not clear it.
  func strictness(for extent: DecodeExtent) -> VipsFailOn {
    switch (self, extent) {
    case (.gif, .whole): VIPS_FAIL_ON_WARNING
    case (.gif, .readablePart): VIPS_FAIL_ON_NONE
    default: VIPS_FAIL_ON_ERROR
    }
  }
}
