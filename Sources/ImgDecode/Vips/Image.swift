import CJPEG
import CVips
import ImgModel

/// The owner of one reference to a libvips image. Used by one thread at a time.
@safe struct Image: ~Copyable {
  let pointer: UnsafeMutablePointer<VipsImage>

  init(owning pointer: UnsafeMutablePointer<VipsImage>) {
    unsafe self.pointer = pointer
  }

  deinit {
    unsafe g_object_unref(pointer)
  }

  /// Runs an operation in the manner of libvips: 0 on success, the image in an out parameter.
  static func result(
    of operation: String,
    _ body: (inout UnsafeMutablePointer<VipsImage>?) -> Int32
  ) throws(VipsError) -> Image {
    var output: UnsafeMutablePointer<VipsImage>?
    guard unsafe body(&output) == 0, let output = unsafe output else {
      throw VipsError(operation: operation)
    }
    return unsafe Image(owning: output)
  }

  /// Pages of a file, as libvips numbers them.
  struct Pages {
    fileprivate let first: Int32
    fileprivate let count: Int32

    static let first = page(0)
    /// All pages, one below the other.
    static let all = Pages(first: 0, count: -1)

    static func page(_ number: Int) -> Pages { Pages(first: Int32(clamping: number), count: 1) }
  }

  // MARK: - From encoded bytes and from samples

  /// What an error of ``loading(_:as:_:scale:isPreview:pages:)`` names.
  static let headerOperation = "header"

  /// Opens the first frame; its pixels are decoded when they are asked for, in the order of the
  /// rows and once. The bytes of `input` must outlive the image.
  ///
  /// - Parameters:
  ///   - extent: how much of the picture must be readable.
  ///   - scale: how much smaller it becomes while it is loaded; 0 for not at all.
  ///   - isPreview: whether the preview in the file will do.
  ///   - pages: which frames of an animation, or pages of a document.
  static func loading(
    _ input: PictureInput, as format: ImageFormat, _ extent: DecodeExtent = .whole,
    scale: Double = 0, isPreview: Bool = false, pages: Pages = .first
  ) throws(VipsError) -> Image {
    let options = img_vips_load_options(
      fail_on: format.strictness(for: extent), scale: scale, thumbnail: isPreview ? 1 : 0,
      page: pages.first, page_count: pages.count,
      major_brand: SequenceBrand.replacement(in: input, as: format) ?? 0)
    guard let loader = format.loader, let start = unsafe input.buffer.baseAddress else {
      throw VipsError(operation: headerOperation)
    }
    let image = try unsafe result(of: headerOperation) {
      unsafe img_vips_load_buffer(loader, start, input.buffer.count, options, &$0)
    }
    if let colours = DescribedColours(input, as: format) { image.setColours(colours) }
    return image
  }

  /// An image of 8-bit samples, which `fill` writes to the memory that it is given.
  static func filled(
    width: UInt32, height: UInt32, bandCount: Int32, interpretation: VipsInterpretation,
    _ fill: (UnsafeMutablePointer<UInt8>) throws(DecodeError) -> Void
  ) throws(DecodeError) -> Image {
    guard
      let pointer = unsafe img_vips_new_pixels(
        Int32(width), Int32(height), bandCount, interpretation)
    else { throw DecodeError(VipsError(operation: "decode")) }
    let image = unsafe Image(owning: pointer)
    try unsafe fill(img_vips_pixels(pointer))
    return image
  }

  // MARK: - Facts

  var width: Int { Int(unsafe vips_image_get_width(pointer)) }
  var height: Int { Int(unsafe vips_image_get_height(pointer)) }
  var size: ThumbnailGeometry.Size { .init(width: width, height: height) }
  /// The height of one frame where several lie below each other.
  var pageHeight: Int { Int(unsafe vips_image_get_page_height(pointer)) }
  var pageCount: Int { Int(unsafe vips_image_get_n_pages(pointer)) }
  /// 1…8 as in EXIF.
  var orientation: Int { Int(unsafe vips_image_get_orientation(pointer)) }
  var bandCount: Int32 { unsafe vips_image_get_bands(pointer) }
  var hasAlpha: Bool { unsafe vips_image_hasalpha(pointer) != 0 }
  var interpretation: VipsInterpretation { unsafe vips_image_get_interpretation(pointer) }
  private var sampleFormat: VipsBandFormat { unsafe vips_image_get_format(pointer) }

  /// Whether the samples are whole numbers of 8 or 16 bits and none is negative.
  var hasUnsignedSamples: Bool {
    [VIPS_FORMAT_UCHAR, VIPS_FORMAT_USHORT].contains(sampleFormat)
  }

  var hasByteSamples: Bool { sampleFormat == VIPS_FORMAT_UCHAR }
  var hasWideSamples: Bool { sampleFormat == VIPS_FORMAT_USHORT }

  // MARK: - Operations

  /// The same image once more.
  func retained() -> Image {
    unsafe g_object_ref(pointer)
    return unsafe Image(owning: pointer)
  }

  func bands(from first: Int32, count: Int32) throws(VipsError) -> Image {
    try unsafe Self.result(of: "bands") { unsafe img_vips_extract_band(pointer, &$0, first, count) }
  }

  /// The colours alone, for an image whose alpha channel hides nothing.
  consuming func withoutAlpha() throws(VipsError) -> Image {
    guard hasAlpha else { return self }
    return try bands(from: 0, count: bandCount - 1)
  }

  /// The picture as it looks on paper of a colour.
  func flattened(on paper: RGBColour = .white) throws(VipsError) -> Image {
    try unsafe Self.result(of: "flatten") {
      unsafe img_vips_flatten(
        pointer, &$0, Double(paper.red), Double(paper.green), Double(paper.blue))
    }
  }

  func cropped(left: Int, top: Int, width: Int, height: Int) throws(VipsError) -> Image {
    try unsafe Self.result(of: "crop") {
      unsafe img_vips_extract_area(
        pointer, &$0, Int32(left), Int32(top), Int32(width), Int32(height))
    }
  }

  /// The part of that size that shows the most. The pixels must be in memory.
  func cropped(
    to size: ThumbnailGeometry.Size, by interest: VipsInteresting
  ) throws(VipsError) -> Image {
    try unsafe Self.result(of: "crop") {
      unsafe img_vips_smartcrop(pointer, &$0, Int32(size.width), Int32(size.height), interest)
    }
  }

  /// Scaled to exactly that size.
  consuming func scaled(to size: ThumbnailGeometry.Size) throws(VipsError) -> Image {
    guard size != self.size else { return self }
    let image = isSmallEnoughForMemory ? try inMemory() : self
    if let resampled = try image.resampled(to: size) { return resampled }
    let horizontal = Double(size.width) / Double(image.width)
    let vertical = Double(size.height) / Double(image.height)
    return try image.weighingTransparency { (image) throws(VipsError) in
      try image.resized(horizontal, vertical)
    }
  }

  /// Does what mixes the colours of pixels that may differ in transparency: each counts as much as it
  /// is seen.
  consuming func weighingTransparency(
    _ mix: (borrowing Image) throws(VipsError) -> Image
  ) throws(VipsError) -> Image {
    guard hasAlpha else { return try mix(self) }
    let premultiplied = try unsafe Self.result(of: "premultiply") {
      unsafe img_vips_premultiply(pointer, &$0)
    }
    return try mix(premultiplied).withColoursDivided(as: sampleFormat)
  }

  /// With colours that are no longer multiplied by their opacity.
  consuming func withColoursDivided(
    as format: VipsBandFormat = VIPS_FORMAT_UCHAR
  ) throws(VipsError) -> Image {
    try unsafe Self.result(of: "unpremultiply") {
      unsafe img_vips_unpremultiply(pointer, &$0)
    }.cast(to: format)
  }

  private func resized(_ horizontal: Double, _ vertical: Double) throws(VipsError) -> Image {
    try unsafe Self.result(of: "resize") {
      unsafe img_vips_resize(pointer, &$0, horizontal, vertical)
    }
  }

  func cast(to format: VipsBandFormat) throws(VipsError) -> Image {
    try unsafe Self.result(of: "cast") { unsafe img_vips_cast(pointer, &$0, format) }
  }

  /// Turned and mirrored as that orientation says. The pixels must be in memory.
  consuming func upright(from orientation: Int) throws(VipsError) -> Image {
    guard orientation != 1 else { return self }
    unsafe vips_image_set_int(pointer, VIPS_META_ORIENTATION, Int32(orientation))
    return try unsafe Self.result(of: "orientation") { unsafe img_vips_autorot(pointer, &$0) }
  }

  /// Computes all pixels now.
  consuming func inMemory() throws(VipsError) -> Image {
    guard let copy = unsafe img_vips_copy_memory(pointer) else {
      throw VipsError(operation: "decode")
    }
    return unsafe Image(owning: copy)
  }

  /// A copy whose pixels are in memory of their own. Those of the image must be in memory.
  func duplicate() throws(VipsError) -> Image {
    guard let copy = unsafe img_vips_duplicate(pointer) else { throw VipsError(operation: "copy") }
    return unsafe Image(owning: copy)
  }

  /// As a JPEG. The pixels are opaque sRGB.
  func encodedAsJPEG(quality: Int) throws(VipsError) -> [UInt8] {
    let encoding = JPEGEncoding(quality: quality, hasChroma: true)
    let image = try retained().inMemory()
    precondition(image.hasByteSamples && image.bandCount == 3, "a thumbnail is in 8-bit sRGB")
    let bytes = unsafe encoding.bytes { encoder in
      unsafe img_jpeg_encode_pixels(
        &encoder, img_vips_pixels(image.pointer), Int32(image.width), Int32(image.height),
        Int32(encoding.pixelsPerChromaSample), Int32(quality))
    }
    // The pixels are ours, so there is no other error.
    guard let bytes else { throw .outOfMemory(in: "encode") }
    return bytes
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
}
