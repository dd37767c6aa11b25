import CPNG
import CVips
package import ImgModel

/// Makes thumbnails of pictures whose end has not arrived: of those that show the whole picture coarsely
/// before that (progressive JPEG, interlaced PNG, GIF), and of other JPEGs, which show their first rows above
/// grey ones. It opens no file.
package struct PreviewMaker: Sendable {
  private let limits: DecodeLimits

  /// - Parameter runtime: the proof that libvips was started.
  package init(runtime: VipsRuntime, limits: Limits) {
    self.limits = DecodeLimits(limits)
  }

  /// Makes a thumbnail of what has arrived. It is encoded as fast as its format allows.
  ///
  /// - Parameters:
  ///   - part: the first bytes of the picture, decoded in place.
  ///   - variant: its selection of frames does not count: the preview shows the first frame, in 8 bits a sample.
  ///   - onHeader: called when the header has been read and is within the limits.
  /// - Throws: a ``Failure`` of stage `decode`: `corrupt_image` also if too little has arrived,
  ///   `unsupported_format` also for a picture that has no previews.
  package func preview(
    of part: Span<UInt8>, as variant: Variant, onHeader: () -> Void = {}
  ) throws(Failure) -> RenderedThumbnails {
    try limits.decoding(part) { (input) throws(DecodeError) in
      let format = try limits.format(of: input)
      let variant = variant.inEightBits
      let picture = try limits.opened(as: [variant], onHeader) { () throws(DecodeError) in
        try open(input, in: format)
      }
      let made = try thumbnail(of: picture, as: variant)
      return RenderedThumbnails(
        thumbnails: [made.thumbnail],
        source: SourceFacts(picture.header, of: format, decodePath: .general),
        thumbHash: made.thumbHash)
    }
  }

  private func open(
    _ input: PictureInput, in format: ImageFormat
  ) throws(DecodeError) -> any OpenPicture {
    switch format {
    case .jpeg: return try JPEGPicture(input, .readablePart)
    case .png: return try InterlacedPNG(input)
    case .gif: return try GIFPart(input)
    case .webp, .heif, .avif, .tiff, .jxl, .jp2, .svg, .bmp, .ico, .pnm:
      throw .unsupported("a part of a picture in \(format.rawValue)")
    }
  }

  private func thumbnail(
    of picture: any OpenPicture, as variant: Variant
  ) throws(DecodeError) -> (thumbnail: EncodedThumbnail, thumbHash: ThumbHash) {
    let geometry = ThumbnailGeometry(source: picture.header.upright, variant: variant)
    let renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
    let frame = try renderer.rendered(
      picture.firstFrame(for: picture.header.oriented(geometry.scaled)), of: picture)
    let encoder = ThumbnailEncoder(variant: variant, isDamaged: false, effort: .least)
    return (
      try encoder.encode(frame.image.retained(), from: picture),
      try renderer.thumbHash(of: frame, of: picture)
    )
  }
}

/// An interlaced PNG whose end has not arrived. libvips decodes such a picture as a whole or not at all,
/// so the pixels come from libpng.
final class InterlacedPNG: OpenPicture {
  /// Of the IHDR chunk, which comes first (PNG specification, section 11.2.1).
  private static let interlaceMethodOffset = 28

  let header: PictureHeader
  private let input: PictureInput
  /// Knows the colour profile and the orientation.
  private let image: Image

  /// Reads the header.
  ///
  /// - Throws: ``DecodeError/unsupported(_:)`` for a PNG that is not interlaced.
  init(_ input: PictureInput) throws(DecodeError) {
    guard input.bytes(at: Self.interlaceMethodOffset, upTo: 1) == [1] else {
      throw .unsupported("a part of a PNG that is not interlaced")
    }
    do throws(VipsError) {
      image = try Image.loading(input, as: .png, .readablePart)
    } catch {
      throw DecodeError(error)
    }
    header = PictureHeader(stored: image.size, orientation: image.orientation, frames: 1)
    self.input = input
  }

  /// - Throws: ``DecodeError/corrupt(_:)`` while less than the first of the seven passes is there.
  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let (width, height) = (UInt32(header.stored.width), UInt32(header.stored.height))
    let frame = try unsafe Image.filled(
      width: width, height: height, bandCount: Int32(FrameCanvas.bandCount),
      interpretation: VIPS_INTERPRETATION_sRGB
    ) { (pixels) throws(DecodeError) in
      unsafe pixels.initialize(
        repeating: 0, count: Int(width) * Int(height) * FrameCanvas.bandCount)
      guard let bytes = unsafe input.buffer.baseAddress,
        unsafe img_png_decode_part(bytes, input.byteCount, pixels, width, height)
      else { throw .corrupt("its first pass is incomplete") }
    }
    frame.setProfile(of: image)
    return frame
  }
}
