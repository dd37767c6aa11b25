import CVips
import ImgWire

/// The owner of one reference to a libvips image. Used by one thread at a time.
@safe struct Image: ~Copyable {
  private let pointer: UnsafeMutablePointer<VipsImage>

  private init(owning pointer: UnsafeMutablePointer<VipsImage>) {
    unsafe self.pointer = pointer
  }

  deinit {
    unsafe g_object_unref(pointer)
  }

  // MARK: - From encoded bytes

  /// What a header says, without decoding a pixel.
  struct Header {
    /// Pixels of the first frame as seen, that is after the orientation was obeyed.
    let width: Int
    let height: Int
    /// Frames or pages in the file, of which only the first is decoded.
    let frames: Int
  }

  static func header(
    of picture: EncodedPicture, in format: ImageFormat
  ) throws(VipsError) -> Header {
    switch picture {
    case .memory(let bytes):
      try unsafe bytes.span.withUnsafeBufferPointer { (buffer) throws(VipsError) in
        guard let start = buffer.baseAddress else { throw VipsError(operation: "header") }
        return try unsafe result(of: "header") {
          unsafe img_vips_load_buffer(format.bufferLoader, start, buffer.count, &$0)
        }.header
      }
    case .file(let descriptor, _):
      try unsafe result(of: "header") {
        unsafe img_vips_load_source(format.sourceLoader, descriptor, &$0)
      }.header
    }
  }

  /// Decodes the first frame, upright, at exactly `width` × `height`, in 8-bit sRGB with or without
  /// transparency. The pixels are in memory when this returns, and every byte that they depend on
  /// was read.
  static func decoding(
    _ picture: EncodedPicture, width: Int, height: Int
  ) throws(VipsError) -> Image {
    switch picture {
    case .memory(let bytes):
      try unsafe bytes.span.withUnsafeBufferPointer { (buffer) throws(VipsError) -> Image in
        guard let start = buffer.baseAddress else { throw VipsError(operation: "decode") }
        let thumbnail = try unsafe result(of: "decode") {
          unsafe img_vips_thumbnail_buffer(start, buffer.count, Int32(width), Int32(height), &$0)
        }
        return try thumbnail.inEightBitSRGB().inMemory()
      }
    case .file(let descriptor, _):
      try unsafe result(of: "decode") {
        unsafe img_vips_thumbnail_source(descriptor, Int32(width), Int32(height), &$0)
      }.inEightBitSRGB().inMemory()
    }
  }

  // MARK: - Facts

  private var header: Header {
    // The orientations 5 to 8 put the stored rows upright.
    let isTurned = unsafe vips_image_get_orientation_swap(pointer) != 0
    return Header(
      width: isTurned ? height : width, height: isTurned ? width : height,
      frames: Int(unsafe vips_image_get_n_pages(pointer)))
  }

  var width: Int { Int(unsafe vips_image_get_width(pointer)) }
  var height: Int { Int(unsafe vips_image_get_height(pointer)) }
  private var bandCount: Int32 { unsafe vips_image_get_bands(pointer) }
  private var hasProfile: Bool { unsafe vips_image_get_typeof(pointer, VIPS_META_ICC_NAME) != 0 }
  private var hasAlpha: Bool { unsafe vips_image_hasalpha(pointer) != 0 }

  // MARK: - Operations

  /// Whether some pixel lets the background through. An alpha channel that is nowhere below 255
  /// does not.
  func isTransparent() throws(VipsError) -> Bool {
    guard hasAlpha else { return false }
    let alpha = try unsafe Self.result(of: "alpha") {
      unsafe img_vips_extract_band(pointer, &$0, bandCount - 1, 1)
    }
    return try alpha.least() < 255
  }

  private func least() throws(VipsError) -> Double {
    var least = 0.0
    guard unsafe img_vips_min(pointer, &least) == 0 else { throw VipsError(operation: "least") }
    return least
  }

  /// The colours alone, for an image whose alpha channel hides nothing.
  consuming func withoutAlpha() throws(VipsError) -> Image {
    guard hasAlpha else { return self }
    return try unsafe Self.result(of: "without alpha") {
      unsafe img_vips_extract_band(pointer, &$0, 0, bandCount - 1)
    }
  }

  /// The picture as it looks on white paper.
  func flattened() throws(VipsError) -> Image {
    try unsafe Self.result(of: "flatten") { unsafe img_vips_flatten_on_white(pointer, &$0) }
  }

  func cropped(left: Int, top: Int, width: Int, height: Int) throws(VipsError) -> Image {
    try unsafe Self.result(of: "crop") {
      unsafe img_vips_extract_area(
        pointer, &$0, Int32(left), Int32(top), Int32(width), Int32(height))
    }
  }

  /// - Parameter suffix: a file name suffix with options, as libvips' savers read them.
  func encoded(suffix: String) throws(VipsError) -> [UInt8] {
    var buffer: UnsafeMutableRawPointer?
    var byteCount = 0
    guard unsafe img_vips_image_write_to_buffer(pointer, suffix, &buffer, &byteCount) == 0 else {
      throw VipsError(operation: "encode")
    }
    defer { unsafe g_free(buffer) }
    return unsafe Array(UnsafeRawBufferPointer(start: buffer, count: byteCount))
  }

  // MARK: - Steps of a decode

  /// Converts grey, CMYK, 16-bit and floating-point pixels, obeys the profile, and drops channels
  /// beyond the fourth, which some TIFF files have.
  private consuming func inEightBitSRGB() throws(VipsError) -> Image {
    var image = try unsafe Self.result(of: "colourspace") {
      unsafe img_vips_colourspace(pointer, &$0, VIPS_INTERPRETATION_sRGB)
    }
    if image.hasProfile {
      // A profile that cannot be used is no reason to refuse the picture: it counts as sRGB.
      let transformed = try? unsafe Self.result(of: "profile") {
        unsafe img_vips_icc_transform_to_srgb(image.pointer, &$0)
      }
      if let transformed { image = transformed }
    }
    image = try unsafe Self.result(of: "channels") {
      unsafe img_vips_extract_band(image.pointer, &$0, 0, min(image.bandCount, 4))
    }
    return try unsafe Self.result(of: "cast") { unsafe img_vips_cast_uchar(image.pointer, &$0) }
  }

  /// Computes all pixels now.
  private consuming func inMemory() throws(VipsError) -> Image {
    guard let copy = unsafe vips_image_copy_memory(pointer) else {
      throw VipsError(operation: "decode")
    }
    return unsafe Image(owning: copy)
  }

  /// Runs an operation in the manner of libvips: 0 on success, the image in an out parameter.
  private static func result(
    of operation: String,
    _ body: (inout UnsafeMutablePointer<VipsImage>?) -> Int32
  ) throws(VipsError) -> Image {
    var output: UnsafeMutablePointer<VipsImage>?
    guard unsafe body(&output) == 0, let output = unsafe output else {
      throw VipsError(operation: operation)
    }
    return unsafe Image(owning: output)
  }
}
