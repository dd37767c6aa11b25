import CJPEG
import CResample
import CVips
import ImgFacts
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
    try unsafe filled(
      with: UInt8.self, width: width, height: height, bandCount: bandCount,
      interpretation: interpretation, fill)
  }

  /// An image of samples of 8 or 16 bits, which `fill` writes to the memory that it is given.
  static func filled<Sample: UnsignedSample>(
    with sample: Sample.Type, width: UInt32, height: UInt32, bandCount: Int32,
    interpretation: VipsInterpretation,
    _ fill: (UnsafeMutablePointer<Sample>) throws(DecodeError) -> Void
  ) throws(DecodeError) -> Image {
    guard
      let pointer = unsafe img_vips_new_pixels(
        Int32(width), Int32(height), bandCount, Sample.depth.sampleFormat, interpretation)
    else { throw DecodeError(VipsError(operation: "decode")) }
    let image = unsafe Image(owning: pointer)
    try unsafe fill(image.pixels())
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
  var sampleFormat: VipsBandFormat { unsafe vips_image_get_format(pointer) }

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
    let levels = [paper.red, paper.green, paper.blue].map { Double($0) * depth.maximum / 255 }
    return try unsafe Self.result(of: "flatten") {
      unsafe img_vips_flatten(pointer, &$0, levels[0], levels[1], levels[2])
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
      unsafe img_vips_premultiply(pointer, &$0, depth.maximum)
    }
    return try mix(premultiplied).withColoursDivided(as: depth)
  }

  /// With colours that are no longer multiplied by their opacity.
  consuming func withColoursDivided(
    as depth: ImageVariant.Depth = .eight
  ) throws(VipsError) -> Image {
    try unsafe Self.result(of: "unpremultiply") {
      unsafe img_vips_unpremultiply(pointer, &$0, depth.maximum)
    }.cast(to: depth.sampleFormat)
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
    let bytes = unsafe encoding.bytes(
      ofPixels: img_vips_pixels(image.pointer), width: image.width, height: image.height)
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

/// What a picture carries beside its pixels.
extension Image {
  /// The same pixels, with metadata that can be changed without changing those of others.
  func withOwnMetadata() throws(VipsError) -> Image {
    try unsafe Self.result(of: "copy") { unsafe img_vips_copy(pointer, &$0) }
  }

  func removeProfile() {
    unsafe vips_image_remove(pointer, VIPS_META_ICC_NAME)
  }

  /// Copies EXIF, XMP and IPTC of the file that the pixels come from, which are upright now. The
  /// thumbnail in the EXIF data is left out, as it is another picture.
  func copyMetadata(of file: borrowing Image) {
    unsafe img_vips_copy_fields(file.pointer, pointer, "exif-")
    // libvips makes this of the EXIF data.
    unsafe vips_image_remove(pointer, "jpeg-thumbnail-data")
    unsafe img_vips_remove_fields(pointer, "exif-ifd1-")
    for name in [VIPS_META_XMP_NAME, VIPS_META_IPTC_NAME] {
      unsafe img_vips_copy_fields(file.pointer, pointer, name)
    }
    unsafe vips_image_remove(pointer, "exif-ifd0-Orientation")
    unsafe vips_image_set_int(pointer, VIPS_META_ORIENTATION, 1)
  }

  /// Names the author and the rights, in XMP, and in EXIF data as far as they are in ASCII.
  func setCopyright(_ notice: CopyrightNotice) {
    let packet = Array(notice.xmpPacket.utf8)
    unsafe vips_image_set_blob_copy(pointer, VIPS_META_XMP_NAME, packet, packet.count)
    setEXIF("Artist", notice.creator)
    setEXIF("Copyright", notice.rights)
  }

  /// - Parameter text: libvips replaces letters outside ASCII. It wants a description of the value behind it, in
  ///   parentheses, and removes that.
  private func setEXIF(_ tag: String, _ text: String?) {
    guard let text, text.utf8.allSatisfy({ $0 < 0x80 }) else { return }
    let count = text.utf8.count + 1
    let value = "\(text) (text, ASCII, \(count) components, \(count) bytes)"
    unsafe vips_image_set_string(pointer, "exif-ifd0-\(tag)", value)
  }

  /// A number in the metadata; `nil` if there is none of that name.
  func integer(named name: String) -> Int? {
    var value: Int32 = 0
    guard unsafe vips_image_get_typeof(pointer, name) != 0,
      unsafe vips_image_get_int(pointer, name, &value) == 0
    else { return nil }
    return Int(value)
  }

  func setInteger(_ value: Int32, named name: String) {
    unsafe vips_image_set_int(pointer, name, value)
  }

  /// Binary metadata; `nil` if there is none of that name.
  func blob(named name: String) -> [UInt8]? {
    var start: UnsafeRawPointer?
    var byteCount = 0
    guard unsafe vips_image_get_typeof(pointer, name) != 0,
      unsafe vips_image_get_blob(pointer, name, &start, &byteCount) == 0
    else { return nil }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: byteCount))
  }

  /// Removes all that ``copyMetadata(of:)`` copies.
  func removeMetadata() {
    unsafe img_vips_remove_fields(pointer, "exif-")
    for name in [VIPS_META_XMP_NAME, VIPS_META_IPTC_NAME, VIPS_META_ORIENTATION] {
      unsafe vips_image_remove(pointer, name)
    }
  }
}

/// What can be read of a damaged picture.
extension Image {
  static let noRowText = "no row of it can be decoded"

  /// Throws if all pixels are equal, so that none is known to be the picture's. The pixels must be in
  /// memory.
  func requireContent() throws(DecodeError) {
    guard unsafe img_vips_is_uniform(pointer) == 0 else {
      throw .corrupt("what can be decoded of it has only one colour")
    }
  }

  /// The number of rows before the first one that cannot be decoded. Decodes all of them.
  func decodableRowCount() throws(VipsError) -> Int {
    let count = unsafe img_vips_decodable_row_count(pointer)
    guard count >= 0 else { throw VipsError(operation: "rows") }
    VipsError.forgetEarlier()
    return Int(count)
  }

  /// The first rows, and 0 for all samples of the others: black, or transparent where the picture has
  /// an alpha channel.
  func withRows(_ count: Int) throws(VipsError) -> Image {
    let rows = try cropped(left: 0, top: 0, width: width, height: count)
    return try unsafe Self.result(of: "rows") {
      unsafe img_vips_embed(rows.pointer, &$0, 0, 0, Int32(width), Int32(height))
    }
  }
}

extension Image {
  /// Frames of more bytes are resized by libvips, which needs a few rows at a time.
  private static let maximumFrameByteCount = 64 << 20

  var isSmallEnoughForMemory: Bool {
    hasUnsignedSamples
      && width * height * Int(bandCount) * depth.byteCount <= Self.maximumFrameByteCount
  }

  /// A picture in memory in another size; several times as fast as libvips does it.
  ///
  /// - Returns: `nil` for images that libvips must scale: those that are not in memory, have
  ///   transparent pixels or other samples than bytes, and those that grow or shrink very much.
  func resampled(to size: ThumbnailGeometry.Size) throws(VipsError) -> Image? {
    guard (1...4).contains(bandCount), unsafe img_vips_has_bytes_in_memory(pointer) != 0,
      // Transparent pixels have a colour, too, which must not bleed into their neighbours.
      !hasAlpha || isOpaque,
      let rows = Resampling.known(from: .pixels(height), to: .pixels(size.height)),
      let columns = Resampling.known(from: .pixels(width), to: .pixels(size.width))
    else { return nil }
    guard
      let result = unsafe img_vips_new_like(pointer, Int32(size.width), Int32(size.height))
    else { throw VipsError(operation: "resize") }
    let image = unsafe Image(owning: result)
    unsafe Resampling.resample(
      samples, rows: rows, columns: columns, bandCount: bandCount, to: image.samples)
    return image
  }

  /// A few pixels that stand for all, as rows of samples; see ``SmallPicture``. The pixels must be bytes in
  /// memory, with transparency in the last of two or four bands.
  func sampleMeans(_ size: ThumbnailGeometry.Size) -> [UInt8] {
    precondition(unsafe img_vips_has_bytes_in_memory(pointer) != 0, "the samples are not there")
    var means = [UInt8](repeating: 0, count: size.width * size.height * Int(bandCount))
    unsafe means.withUnsafeMutableBufferPointer { buffer in
      guard let first = buffer.baseAddress else { return }
      let result = unsafe img_samples(
        samples: first, row_stride: size.width * Int(bandCount), width: Int32(size.width))
      unsafe img_sample_means(
        samples, Int32(height), bandCount, hasAlpha, result, Int32(size.height))
    }
    return means
  }

  /// Whether no pixel lets the background through, of an image of 8 or 16 bits in memory whose last band is
  /// the alpha channel.
  var isOpaque: Bool {
    unsafe hasWideSamples ? hasOpaqueWords : img_is_opaque(samples, Int32(height), bandCount)
  }

  /// Of an image of bytes in memory. There are no gaps between its rows.
  private var samples: img_samples {
    unsafe img_samples(
      samples: img_vips_pixels(pointer), row_stride: width * Int(bandCount), width: Int32(width))
  }
}

extension Image {
  /// In samples of 8 or 16 bits, none of them negative: whole numbers by their full range, floating-point ones by
  /// a range from black to white.
  ///
  /// - Returns: `nil` for samples that are no numbers of light or ink, such as complex ones.
  func inUnsignedSamples(
    floatRange: ClosedRange<Double>
  ) throws(VipsError) -> Image? {
    guard !hasUnsignedSamples else { return retained() }
    guard ![VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_LABS].contains(interpretation) else {
      return nil
    }
    let range: ClosedRange<Double>
    switch unsafe vips_image_get_format(pointer) {
    case VIPS_FORMAT_CHAR: range = Self.range(of: Int8.self)
    case VIPS_FORMAT_SHORT: range = Self.range(of: Int16.self)
    case VIPS_FORMAT_INT: range = Self.range(of: Int32.self)
    case VIPS_FORMAT_UINT: range = Self.range(of: UInt32.self)
    case VIPS_FORMAT_FLOAT, VIPS_FORMAT_DOUBLE: range = floatRange
    default: return nil
    }
    return try unsafe Self.result(of: "samples") {
      unsafe img_vips_in_words(pointer, &$0, range.lowerBound, range.upperBound)
    }
  }

  private static func range<Sample: FixedWidthInteger>(
    of sample: Sample.Type
  ) -> ClosedRange<Double> {
    Double(Sample.min)...Double(Sample.max)
  }

  /// With an opaque alpha channel, if there is none.
  consuming func withAlpha() throws(VipsError) -> Image {
    guard !hasAlpha else { return self }
    return try unsafe Self.result(of: "alpha") { unsafe img_vips_addalpha(pointer, &$0) }
  }

  /// With an alpha channel of one band, for an image that has none.
  func joined(withAlpha alpha: borrowing Image) throws(VipsError) -> Image {
    try unsafe Self.result(of: "alpha") { unsafe img_vips_bandjoin(pointer, alpha.pointer, &$0) }
  }

  /// Lends the samples of an image of bytes in memory. There are no gaps between its rows.
  borrowing func withSamples(_ body: (Span<UInt8>) -> Void) {
    precondition(unsafe img_vips_has_bytes_in_memory(pointer) != 0, "the samples are not there")
    let samples = unsafe UnsafeBufferPointer(
      start: img_vips_pixels(pointer), count: width * height * Int(bandCount))
    body(unsafe Span(_unsafeElements: samples))
  }
}
