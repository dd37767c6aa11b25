import CJPEG
import CVips
import Glibc
import ImgFacts
import ImgModel

/// The orientation in the EXIF metadata of a JPEG (CIPA DC-008, "Orientation"): how the stored
/// pixels are turned and mirrored.
enum EXIFOrientation {
  private static let start = Array("Exif\0\0".utf8)

  /// - Parameter segment: the data of an application segment, without marker and length.
  /// - Returns: 1…8; `nil` when the segment is no EXIF, or tells none that exists.
  static func value(inSegment segment: UnsafeBufferPointer<UInt8>) -> Int? {
    guard unsafe segment.starts(with: start) else { return nil }
    let file = unsafe UnsafeBufferPointer(rebasing: segment.dropFirst(start.count))
    let block = try? EXIFBlock(ByteWindow(unsafe PictureInput(file)))
    return try? block?.orientation()
  }
}

/// How a thumbnail becomes a JPEG: baseline, with the standard tables, without metadata.
struct JPEGEncoding {
  let quality: Int
  /// Along both sides, 1 or 2.
  let pixelsPerChromaSample: Int

  /// From which quality on chroma has as many samples as luma, as libvips has it.
  private static let fullChromaQuality = 90

  init(quality: Int, hasChroma: Bool) {
    self.quality = quality
    pixelsPerChromaSample = hasChroma && quality < Self.fullChromaQuality ? 2 : 1
  }

  /// - Parameter encode: one of libjpeg's ways to encode; returns `false` on failure.
  /// - Returns: the encoded bytes; `nil` on failure.
  func bytes(encode: (inout img_jpeg_encoder) -> Bool) -> [UInt8]? {
    var encoder = unsafe img_jpeg_encoder()
    defer { unsafe free(encoder.bytes) }
    guard unsafe encode(&encoder), let bytes = unsafe encoder.bytes else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: encoder.byte_count))
  }

  /// - Parameter pixels: opaque sRGB, three bytes each, without gaps between the rows.
  /// - Returns: the encoded bytes; `nil` if there is no memory. There is no other error, as the pixels are ours.
  func bytes(ofPixels pixels: UnsafePointer<UInt8>, width: Int, height: Int) -> [UInt8]? {
    unsafe bytes { encoder in
      unsafe img_jpeg_encode_pixels(
        &encoder, pixels, Int32(width), Int32(height), Int32(pixelsPerChromaSample),
        Int32(quality))
    }
  }
}

/// Luma and chroma as they are stored. They need no conversion of colours, and chroma mostly has a
/// quarter of the samples.
extension JPEGPicture {
  /// Whether its planes can be a thumbnail: in the colours of JFIF, and of sRGB or of a profile that is
  /// converted pixel by pixel, with whole numbers of samples of luma for each of chroma, and without damage that
  /// hides a part.
  var isPlanar: Bool {
    guard extent == .whole else { return false }
    let info = unsafe decoder.pointee.info
    switch unsafe info.jpeg_color_space {
    case JCS_GRAYSCALE: return isInStandardColours
    case JCS_YCbCr:
      return (isInStandardColours || conversion != nil)
        && (unsafe img_jpeg_has_whole_factors(decoder))
    default: return false
    }
  }

  var hasChroma: Bool { unsafe decoder.pointee.info.num_components > 1 }

  func planarShape(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) throws(DecodeError) -> PlanarShape {
    try unsafe start { unsafe img_jpeg_shape_planes($0, scale(for: size, chroma: chroma)) }
    return PlanarShape(
      components: componentShapes.map { .init(columns: columns(of: $0), rows: rows(of: $0)) })
  }

  func planarFrame(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) throws(DecodeError) -> PlanarFrame {
    try unsafe start { unsafe img_jpeg_start_planes($0, scale(for: size, chroma: chroma)) }
    var planes: [Plane] = []
    for shape in componentShapes {
      planes.append(
        try Plane(
          columns: columns(of: shape), rows: rows(of: shape), rowStride: Int(shape.row_stride),
          rowCount: Int(shape.row_count)))
    }
    let blocks = unsafe planes.map { unsafe $0.blocks }
    try unsafe finish { unsafe img_jpeg_finish_planes($0, blocks) }
    return PlanarFrame(planes: planes)
  }

  private func scale(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) -> img_jpeg_scale {
    img_jpeg_scale(
      eighths: eighths(for: size), chroma_block_side: Int32(chromaBlockSide(for: chroma)))
  }

  /// The least factor that is left to the resize of chroma, whose detail the eye sees less.
  private static let chromaFactor = 1.5

  /// The samples along a side of a block of chroma: as few as leave that factor.
  private func chromaBlockSide(for size: ThumbnailGeometry.Size) -> Int {
    let info = unsafe decoder.pointee.info
    let most = unsafe (
      columns: Double(info.max_h_samp_factor), rows: Double(info.max_v_samp_factor)
    )
    let stored = header.stored
    var factor = Double.infinity
    for index in 1..<max(1, Int(unsafe info.num_components)) {
      let component = unsafe info.comp_info[index]
      let columns = Double(stored.width) * Double(unsafe component.h_samp_factor) / most.columns
      let rows = Double(stored.height) * Double(unsafe component.v_samp_factor) / most.rows
      factor = min(factor, columns / Double(size.width), rows / Double(size.height))
    }
    return [1, 2, 4].first { factor * Double($0) / 8 >= Self.chromaFactor } ?? 8
  }

  /// In the scale that was asked for last.
  private var componentShapes: [img_jpeg_component] {
    (0..<(unsafe decoder.pointee.info.num_components)).map {
      unsafe img_jpeg_component_shape(decoder, $0)
    }
  }

  private func columns(of shape: img_jpeg_component) -> SampledSide {
    SampledSide(
      length: header.stored.width, sampleCount: Int(shape.width),
      pixelsPerSample: shape.pixels_per_column)
  }

  private func rows(of shape: img_jpeg_component) -> SampledSide {
    SampledSide(
      length: header.stored.height, sampleCount: Int(shape.height),
      pixelsPerSample: shape.pixels_per_row)
  }
}

/// A JPEG (ITU-T T.81), read by libjpeg-turbo.
///
/// Not by way of libvips: that tells of damage only whether there was any at all, and stops reading
/// before the end, where most of it shows. Here, damage is what leaves blocks undecoded or data
/// over, and a picture that merely lacks its last marker is whole.
@safe final class JPEGPicture: PlanarPicture {
  let header: PictureHeader
  private let input: PictureInput
  let extent: DecodeExtent
  let decoder: UnsafeMutablePointer<img_jpeg_decoder>
  private let colours: Colours
  private let profile: [UInt8]?
  /// Whether it carries no colour profile, or one that says nothing new.
  private let isInStandardColours: Bool
  let conversion: ColourConversion?

  /// Whether each of its scans shows the whole picture.
  var isProgressive: Bool { unsafe decoder.pointee.info.progressive_mode != 0 }

  /// How the pixels are to come out.
  private struct Colours {
    let space: J_COLOR_SPACE
    let interpretation: VipsInterpretation
    let bandCount: Int32
    /// Adobe's programs write CMYK with 255 for no ink.
    var isInverted = false
  }

  /// Reads the header.
  ///
  /// - Parameter owner: the picture that it is the thumbnail of, whose orientation it has. A thumbnail without a
  ///   profile has that of its owner, too.
  init(
    _ input: PictureInput, _ extent: DecodeExtent, thumbnailOf owner: JPEGPicture? = nil
  ) throws(DecodeError) {
    guard let decoder = unsafe img_jpeg_new() else { throw .outOfMemory }
    do throws(DecodeError) {
      guard let start = unsafe input.buffer.baseAddress else {
        throw .corrupt("the body is empty")
      }
      unsafe img_jpeg_use_memory(decoder, start, input.buffer.count)
      guard unsafe img_jpeg_read_header(decoder) else { throw unsafe Self.error(of: decoder) }
      colours = try unsafe Self.colours(of: decoder.pointee.info)
    } catch {
      unsafe img_jpeg_free(decoder)
      throw error
    }
    header = PictureHeader(
      stored: .init(
        width: Int(unsafe decoder.pointee.info.image_width),
        height: Int(unsafe decoder.pointee.info.image_height)),
      orientation: owner?.header.orientation
        ?? (unsafe Self.orientation(of: decoder.pointee.info)),
      frames: 1)
    let profile = unsafe Self.profile(of: decoder) ?? owner?.profile
    let known = profile.flatMap(ICCProfile.known)
    isInStandardColours = profile == nil || known?.isSRGB == true
    conversion = known?.conversion
    self.profile = profile
    self.input = input
    self.extent = extent
    unsafe self.decoder = decoder
  }

  deinit {
    unsafe img_jpeg_free(decoder)
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    try unsafe start { unsafe img_jpeg_start($0, colours.space, eighths(for: size)) }
    let frame = try unsafe Image.filled(
      width: decoder.pointee.info.output_width, height: decoder.pointee.info.output_height,
      bandCount: colours.bandCount, interpretation: colours.interpretation
    ) { (pixels) throws(DecodeError) in
      try unsafe finish { unsafe img_jpeg_finish($0, pixels, colours.isInverted) }
    }
    if extent == .readablePart { try frame.requireContent() }
    if let profile { frame.setProfile(profile) }
    return frame
  }

  /// The thumbnail in the EXIF metadata, which lies with the picture (CIPA DC-008 section 4.6.3).
  func embeddedPicture() -> (any OpenPicture)? {
    guard extent == .whole,
      let facts = try? PictureFacts.reading(input, .metadata), let thumbnail = facts.thumbnail,
      let start = thumbnail.byteOffset, let byteCount = thumbnail.byteCount,
      let part = input.part(at: start, byteCount: byteCount),
      let picture = try? JPEGPicture(part, extent, thumbnailOf: self),
      picture.header.stored.width < header.stored.width,
      picture.header.stored.hasShape(of: header.stored)
    else { return nil }
    return picture
  }

  func metadataImage() throws(VipsError) -> Image? { try Image.loading(input, as: .jpeg) }

  func copyrightNotice() -> CopyrightNotice? { CopyrightNotice(in: input) }

  /// Starts to decode pixels or planes.
  func start(
    _ start: (UnsafeMutablePointer<img_jpeg_decoder>) -> Bool
  ) throws(DecodeError) {
    guard unsafe start(decoder) else { throw unsafe Self.error(of: decoder) }
  }

  /// Decodes them, and looks for damage.
  func finish(
    _ finish: (UnsafeMutablePointer<img_jpeg_decoder>) -> Bool
  ) throws(DecodeError) {
    guard unsafe finish(decoder) else { throw unsafe Self.error(of: decoder) }
    switch extent {
    case .whole: try checkDamage()
    case .readablePart:
      guard unsafe !decoder.pointee.damage.lacks_rows else { throw .corrupt(Image.noRowText) }
    }
  }

  /// The scale of the cheapest decode that leaves at least a factor of two to the resize, whose
  /// kernel is better than the box of pixels that the decoder makes one pixel of.
  func eighths(for size: ThumbnailGeometry.Size) -> UInt32 {
    let factor = min(header.stored.width / size.width, header.stored.height / size.height)
    switch factor {
    case ..<4: return 8
    case ..<8: return 4
    case ..<16: return 2
    default: return 1
    }
  }

  private func checkDamage() throws(DecodeError) {
    if unsafe decoder.pointee.damage.has_bad_data {
      throw .corrupt(unsafe String(cString: img_jpeg_damage_text(decoder)))
    }
    // The missing end alone is none: every block was decoded.
    guard unsafe decoder.pointee.is_complete else {
      throw .corrupt("some of its scans are missing")
    }
    guard !JPEGZeroHoles.exist(in: input) else {
      throw .corrupt("zeros stand in place of a part of its data")
    }
  }

  // MARK: - The header

  private static func colours(of info: jpeg_decompress_struct) throws(DecodeError) -> Colours {
    switch unsafe info.jpeg_color_space {
    case JCS_GRAYSCALE:
      Colours(space: JCS_GRAYSCALE, interpretation: VIPS_INTERPRETATION_B_W, bandCount: 1)
    case JCS_CMYK, JCS_YCCK:
      Colours(
        space: JCS_CMYK, interpretation: VIPS_INTERPRETATION_CMYK, bandCount: 4,
        isInverted: unsafe info.saw_Adobe_marker != 0)
    case JCS_RGB, JCS_YCbCr:
      Colours(space: JCS_RGB, interpretation: VIPS_INTERPRETATION_sRGB, bandCount: 3)
    default:
      throw .unsupported("JPEG with \(unsafe info.num_components) colour components")
    }
  }

  private static func profile(of decoder: UnsafeMutablePointer<img_jpeg_decoder>) -> [UInt8]? {
    var start: UnsafeMutablePointer<UInt8>?
    var byteCount: UInt32 = 0
    guard unsafe img_jpeg_read_profile(decoder, &start, &byteCount), let start = unsafe start else {
      return nil
    }
    defer { unsafe free(start) }
    return unsafe Array(UnsafeBufferPointer(start: start, count: Int(byteCount)))
  }

  private static func orientation(of info: jpeg_decompress_struct) -> Int {
    var marker = unsafe info.marker_list
    while let saved = unsafe marker {
      let data = unsafe UnsafeBufferPointer(
        start: saved.pointee.data, count: Int(saved.pointee.data_length))
      if let orientation = unsafe EXIFOrientation.value(inSegment: data) { return orientation }
      unsafe marker = saved.pointee.next
    }
    return 1
  }

  // MARK: - Errors

  private static func error(of decoder: UnsafeMutablePointer<img_jpeg_decoder>) -> DecodeError {
    let code = unsafe J_MESSAGE_CODE(UInt32(decoder.pointee.error_code))
    switch code {
    case JERR_OUT_OF_MEMORY:
      return .outOfMemory
    case JERR_SOF_UNSUPPORTED:
      return .unsupported("lossless or hierarchical JPEG")
    case JERR_BAD_PRECISION:
      return .unsupported("JPEG with \(unsafe decoder.pointee.info.data_precision)-bit samples")
    case JERR_IMAGE_TOO_BIG:
      return .unsupported("JPEG of more than \(JPEG_MAX_DIMENSION) pixels a side")
    case JERR_ARITH_NOTIMPL:
      return .unsupported("JPEG with arithmetic coding")
    default:
      return .corrupt(unsafe String(cString: img_jpeg_error_text(decoder)))
    }
  }
}
