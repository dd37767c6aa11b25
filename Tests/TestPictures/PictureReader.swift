import CVips
package import ImgDecode

/// Looks into an encoded picture, to check what was made. Reads the pixels as they are stored: no
/// orientation and no profile is obeyed.
package struct PictureReader: Sendable {
  package init(runtime: VipsRuntime) {}

  package static func start() throws(VipsError) -> PictureReader {
    PictureReader(runtime: try VipsRuntime.start())
  }

  /// The pixels of the first frame in 8-bit colours.
  package func raster(of bytes: [UInt8]) throws(PictureError) -> Raster {
    try unsafe bytes.withVipsImage { (image) throws(PictureError) in
      var converted: UnsafeMutablePointer<VipsImage>?
      guard unsafe img_vips_colourspace(image, &converted, VIPS_INTERPRETATION_sRGB) == 0,
        let converted = unsafe converted
      else { throw PictureError(operation: "colourspace") }
      defer { unsafe g_object_unref(converted) }
      var byteCount = 0
      guard let memory = unsafe vips_image_write_to_memory(converted, &byteCount) else {
        throw PictureError(operation: "pixels")
      }
      defer { unsafe g_free(memory) }
      let samples = unsafe Array(UnsafeRawBufferPointer(start: memory, count: byteCount))
      let width = Int(unsafe vips_image_get_width(converted))
      let bandCount = Int(unsafe vips_image_get_bands(converted))
      return Raster(width: width, height: Int(unsafe vips_image_get_height(converted))) { x, y in
        let start = (y * width + x) * bandCount
        let alpha = bandCount == 4 ? samples[start + 3] : 255
        return Raster.Pixel(samples[start], samples[start + 1], samples[start + 2], alpha: alpha)
      }
    }
  }

  /// Decodes all pixels of the first frame, and does nothing with them.
  package func decode(_ bytes: [UInt8]) throws(PictureError) {
    try unsafe bytes.withVipsImage { (image) throws(PictureError) in
      var byteCount = 0
      guard let memory = unsafe vips_image_write_to_memory(image, &byteCount) else {
        throw PictureError(operation: "pixels")
      }
      unsafe g_free(memory)
    }
  }

  /// Whether the picture has an alpha channel, transparent somewhere or not.
  package func hasAlpha(_ bytes: [UInt8]) throws(PictureError) -> Bool {
    try unsafe bytes.withVipsImage { unsafe vips_image_hasalpha($0) != 0 }
  }

  /// Which of EXIF, XMP, IPTC, a colour profile and an orientation the picture carries, by the
  /// names of libvips.
  package func metadata(of bytes: [UInt8]) throws(PictureError) -> [String] {
    let names = [
      VIPS_META_EXIF_NAME, VIPS_META_XMP_NAME, VIPS_META_IPTC_NAME, VIPS_META_ICC_NAME,
      VIPS_META_ORIENTATION,
    ]
    return try unsafe bytes.withVipsImage { image in
      names.filter { unsafe vips_image_get_typeof(image, $0) != 0 }
    }
  }
}

extension [UInt8] {
  /// Opens the encoded picture for the time of `body`.
  fileprivate func withVipsImage<Result>(
    _ body: (UnsafeMutablePointer<VipsImage>) throws(PictureError) -> Result
  ) throws(PictureError) -> Result {
    try unsafe span.withUnsafeBufferPointer { (buffer) throws(PictureError) in
      let image = unsafe buffer.baseAddress.flatMap {
        unsafe img_vips_image_new_from_buffer($0, buffer.count)
      }
      guard let image = unsafe image else { throw PictureError(operation: "header") }
      defer { unsafe g_object_unref(image) }
      return try unsafe body(image)
    }
  }
}
