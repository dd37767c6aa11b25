import CVips
import ImgFacts
import ImgModel

/// A picture that one of libvips' loaders reads.
final class VipsPicture: OpenPicture {
  let header: PictureHeader
  private let input: PictureInput
  private let format: ImageFormat
  private let extent: DecodeExtent
  /// The frame or page, counted from 0.
  private let page: Int
  private let image: Image
  /// The document of an SVG.
  private let drawing: SVGDocument?

  /// Reads the header.
  init(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent, page: Int = 0
  ) throws(DecodeError) {
    self.input = input
    self.page = page
    self.format = format
    self.extent = extent
    if format == .tiff, let interpretation = TIFFFeatures(of: input)?.unknownInterpretation {
      throw .unsupported(interpretation)
    }
    if format == .png, let chunk = PNGChunks.cutChunk(in: input) {
      throw .corrupt("the chunk \(chunk) declares more bytes than the file has")
    }
    drawing = format == .svg ? try SVGDocument(input) : nil
    image = try Self.image(input, in: format, extent, page: page, scale: drawing?.scale ?? 0)
    header = PictureHeader(
      stored: .init(width: image.width, height: image.height), orientation: image.orientation,
      frames: APNGFile.frameCount(in: input, as: format)
        ?? SequencePicture.frameCount(in: input, as: format) ?? image.pageCount,
      embeddedPixelCount: drawing?.embeddedPixelCount ?? 0,
      hasMoreThanEightBits: image.hasMoreThanEightBits, isDrawing: drawing != nil)
  }

  /// Opens a frame. The samples of a TIFF become whole numbers.
  private static func image(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent, page: Int, scale: Double
  ) throws(DecodeError) -> Image {
    do throws(VipsError) {
      let loaded = try Image.loading(input, as: format, extent, scale: scale, pages: .page(page))
      guard format == .tiff else { return loaded }
      let range = TIFFFeatures(of: input)?.sampleRange ?? 0...1
      if let image = try loaded.inUnsignedSamples(floatRange: range) { return image }
    } catch {
      throw reason(for: error, of: input, in: format)
    }
    throw .unsupported("TIFF with complex samples, or with signed ones of CIE L*a*b*")
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    switch extent {
    case .whole: try wholeFrame(for: size)
    case .readablePart: try readablePart()
    }
  }

  private func wholeFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    try drawing?.checkPictures()
    if format == .gif {
      try requireWholePage()
      return try onWholeCanvas(image)
    }
    return try decoding { () throws(VipsError) in
      switch format {
      case .webp where page == 0, .svg: return try scaledWhileLoading(to: size)
      case .avif: return try inFullRange(image.retained())
      case .jpeg, .png, .gif, .webp, .heif, .tiff, .jxl, .jp2, .bmp, .ico, .pnm:
        return image.retained()
      }
    }
  }

  /// The preview that cameras put into the file.
  func embeddedPicture() -> (any OpenPicture)? {
    guard trustsEmbeddedPicture, extent == .whole, page == 0,
      let preview = try? Image.loading(input, as: format, isPreview: true),
      preview.width < header.stored.width, preview.size.hasShape(of: header.stored)
    else { return nil }
    // Its colours are those of the picture, whose profile it does not repeat.
    preview.setProfile(of: image)
    guard format == .avif else { return FramePicture(preview) }
    guard let shown = try? inFullRange(preview) else { return nil }
    return FramePicture(shown)
  }

  var trustsEmbeddedPicture: Bool { [.heif, .avif].contains(format) }

  func metadataImage() throws(VipsError) -> Image? { image.retained() }

  func copyrightNotice() -> CopyrightNotice? { CopyrightNotice(in: input) }

  func reason(for error: VipsError) -> DecodeError {
    Self.reason(for: error, of: input, in: format)
  }

  // MARK: - The whole frame

  /// Those loaders scale as they decode, or draw.
  private func scaledWhileLoading(to size: ThumbnailGeometry.Size) throws(VipsError) -> Image {
    let scale = max(
      Double(size.width) / Double(header.stored.width),
      Double(size.height) / Double(header.stored.height))
    guard scale < 1 || header.isDrawing && scale > 1 else { return image.retained() }
    return try Image.loading(input, as: format, scale: scale * (drawing?.scale ?? 1))
  }

  private func inFullRange(_ frame: consuming Image) throws(VipsError) -> Image {
    let head = input.bytes(at: 0, upTo: AV1Gray.examinedByteCount)
    return AV1Gray.isLimited(in: head) ? try frame.withRangeWidened() : frame
  }

  private func requireWholePage() throws(DecodeError) {
    guard page > 0 else { return }
    var check = GIFFrameCheck(of: input)
    for _ in 0...page { try check.advance() }
  }

  /// What the frames leave free of the canvas is transparent.
  private func onWholeCanvas(_ frame: borrowing Image) throws(DecodeError) -> Image {
    guard !frame.hasAlpha else { return frame.retained() }
    var coverage = GIFCoverage(of: input, on: header.stored)
    for _ in 0...page { coverage.advance() }
    return try coverage.applied(to: frame)
  }

  // MARK: - A part of the frame

  private func readablePart() throws(DecodeError) -> Image {
    format == .gif ? try decodableFrame() : try decodableRows()
  }

  /// The loader leaves pixels that it cannot decode as clear as it made them.
  private func decodableFrame() throws(DecodeError) -> Image {
    let frame = try decoding { () throws(VipsError) in try image.retained().inMemory() }
    try frame.requireContent()
    return try onWholeCanvas(frame)
  }

  private func decodableRows() throws(DecodeError) -> Image {
    let count = try decoding { () throws(VipsError) in try image.decodableRowCount() }
    guard count > 0 else { throw .corrupt(Image.noRowText) }
    // A loader decodes each row once.
    let again = try Self.image(input, in: format, extent, page: page, scale: 0)
    return try decoding { () throws(VipsError) in try again.withRows(count) }
  }

  /// A loader calls a file wrong if it does not know its kind. There are many kinds of TIFF, and
  /// the file's own tags tell them from damage.
  private static func reason(
    for error: VipsError, of input: PictureInput, in format: ImageFormat
  ) -> DecodeError {
    guard !error.isOutOfMemory else { return .outOfMemory }
    if format == .tiff, let feature = TIFFFeatures(of: input)?.undecoded {
      return .unsupported(feature)
    }
    guard error.isWithoutReason,
      let fault = FileFault.text(
        of: input, in: format, readsPixels: error.operation != Image.headerOperation)
    else {
      return DecodeError(error)
    }
    return .corrupt("\(error.operation): \(fault)")
  }
}

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

extension BinaryFields {
  /// An s15Fixed16Number at an offset (ICC.1 section 4).
  func fixed(_ offset: Int) -> Double {
    Double(Int32(truncatingIfNeeded: u32(offset))) / 65_536
  }
}

/// Numbers as profiles and chunks are written, the most significant byte first (ICC.1 section 4).
enum BigEndianBytes {
  static func number(_ value: Int, byteCount: Int = 4) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// An s15Fixed16Number.
  static func fixed(_ value: Double) -> [UInt8] { number(Int((value * 65_536).rounded())) }

  /// What the data of a tag begins with.
  static func tag(_ type: String) -> [UInt8] { Array(type.utf8) + [0, 0, 0, 0] }
}
