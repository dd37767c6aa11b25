import CResample
import CVips
import CWebP
import ImgFacts
import ImgModel

/// An opaque still WebP (RFC 9649), read by libwebp. Not by way of libvips, which takes twice the time: it has
/// threads ask for a few rows at a time, and knows no planes.
final class WebPPicture: PlanarPicture {
  let header: PictureHeader
  private let input: PictureInput
  private let profile: [UInt8]?
  let isPlanar: Bool
  let conversion: ColourConversion?
  let hasChroma = true

  /// Larger frames are read by libvips, which needs a few rows at a time.
  private static let maximumPixelCount = 16 << 20

  /// Reads the header.
  ///
  /// - Returns: `nil` for what libvips reads: animations, transparency, large pictures, and files whose parts
  ///   cannot be told apart.
  init?(_ input: PictureInput) {
    var features = WebPBitstreamFeatures()
    guard let facts = try? PictureFacts.reading(input, .header),
      facts.hasAlpha == false, facts.isAnimated == false,
      facts.storedWidth * facts.storedHeight <= Self.maximumPixelCount,
      unsafe WebPGetFeatures(input.buffer.baseAddress, input.byteCount, &features)
        == VP8_STATUS_OK, features.has_alpha == 0, features.has_animation == 0,
      (Int(features.width), Int(features.height)) == (facts.storedWidth, facts.storedHeight)
    else { return nil }
    self.input = input
    header = PictureHeader(
      stored: .init(width: facts.storedWidth, height: facts.storedHeight),
      orientation: facts.orientation, frames: 1)
    let profile = WebPContainer.profile(of: input)
    let known = profile.flatMap(ICCProfile.known)
    self.profile = profile
    conversion = known?.conversion
    isPlanar =
      facts.colourModel == .ycbcr
      && (profile == nil || known?.isSRGB == true || known?.conversion != nil)
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let (width, height) = (header.stored.width, header.stored.height)
    let frame = try unsafe Image.filled(
      width: UInt32(width), height: UInt32(height), bandCount: 3,
      interpretation: VIPS_INTERPRETATION_sRGB
    ) { (pixels) throws(DecodeError) in
      try unsafe decode(to: MODE_RGB) { output in
        unsafe output.u.RGBA = WebPRGBABuffer(
          rgba: pixels, stride: Int32(3 * width), size: 3 * width * height)
      }
    }
    if let profile { frame.setProfile(profile) }
    return frame
  }

  func planarShape(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) -> PlanarShape {
    let luma = PlanarShape.Component(
      columns: .pixels(header.stored.width), rows: .pixels(header.stored.height))
    let chroma = PlanarShape.Component(
      columns: halved(header.stored.width), rows: halved(header.stored.height))
    return PlanarShape(components: [luma, chroma, chroma])
  }

  func planarFrame(
    for size: ThumbnailGeometry.Size, chroma: ThumbnailGeometry.Size
  ) throws(DecodeError) -> PlanarFrame {
    var planes: [Plane] = []
    for component in planarShape(for: size, chroma: chroma).components {
      planes.append(
        try Plane(
          columns: component.columns, rows: component.rows,
          rowStride: component.columns.sampleCount, rowCount: component.rows.sampleCount))
    }
    let memory = unsafe planes.map { unsafe $0.image }
    let byteCounts = planes.map { $0.columns.sampleCount * $0.rows.sampleCount }
    try unsafe decode(to: MODE_YUV) { output in
      unsafe output.u.YUVA = WebPYUVABuffer(
        y: memory[0].samples, u: memory[1].samples, v: memory[2].samples, a: nil,
        y_stride: Int32(memory[0].row_stride), u_stride: Int32(memory[1].row_stride),
        v_stride: Int32(memory[2].row_stride), a_stride: 0, y_size: byteCounts[0],
        u_size: byteCounts[1], v_size: byteCounts[2], a_size: 0)
    }
    // RFC 6386 section 9.2: the colours are those of BT.601, whose range is not that of JFIF.
    for (index, plane) in planes.enumerated() { plane.widenRange(isLuma: index == 0) }
    return PlanarFrame(planes: planes)
  }

  func metadataImage() throws(VipsError) -> Image? { try Image.loading(input, as: .webp) }

  func copyrightNotice() -> CopyrightNotice? { CopyrightNotice(in: input) }

  /// One sample of chroma for two pixels.
  private func halved(_ length: Int) -> SampledSide {
    SampledSide(length: length, sampleCount: (length + 1) / 2, pixelsPerSample: 2)
  }

  /// - Parameter setMemory: says where the samples go.
  private func decode(
    to mode: WEBP_CSP_MODE, _ setMemory: (inout WebPDecBuffer) -> Void
  ) throws(DecodeError) {
    var configuration = unsafe WebPDecoderConfig()
    guard unsafe WebPInitDecoderConfig(&configuration) != 0 else {
      throw .unencodable("libwebp is of another version than its headers")
    }
    unsafe configuration.output.colorspace = mode
    unsafe configuration.output.is_external_memory = 1
    unsafe setMemory(&configuration.output)
    switch unsafe WebPDecode(input.buffer.baseAddress, input.byteCount, &configuration) {
    case VP8_STATUS_OK: return
    case VP8_STATUS_OUT_OF_MEMORY: throw .outOfMemory
    case VP8_STATUS_UNSUPPORTED_FEATURE: throw .unsupported("WebP of an unknown kind")
    default:
      throw .corrupt(
        FileFault.text(of: input, in: .webp, readsPixels: true) ?? "its pixels cannot be decoded")
    }
  }
}
