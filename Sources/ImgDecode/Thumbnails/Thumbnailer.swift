package import ImgModel
import ImgSniff

/// Makes thumbnails: bytes of a picture in, bytes of a thumbnail out, within limits. It opens no
/// file.
///
/// A call takes as long as the picture does. A caller with a time limit runs it on a thread or in a
/// process that it can abandon.
package struct Thumbnailer: Sendable {
  private let limits: Limits

  /// - Parameter runtime: the proof that libvips was started.
  package init(runtime: VipsRuntime, limits: Limits) {
    self.limits = limits
  }

  /// The steps from a body to a thumbnail of its first frame.
  ///
  /// - Parameters:
  ///   - picture: decoded in place.
  ///   - isLenient: whether a picture that turns out to be damaged is decoded once more, as far as
  ///     possible. The caller's limits of time and memory are for both decodes together.
  ///   - onHeader: called whenever the header has been read and is within the limits.
  /// - Throws: a ``Failure`` of stage `decode`: `not_an_image`, `unsupported_format`,
  ///   `too_many_pixels`, `too_many_frames`, `corrupt_image` (also when pixels are missing), `out_of_memory`, or
  ///   `internal` when a decoded picture cannot be encoded.
  package func thumbnail(
    of picture: Span<UInt8>, as variant: Variant, isLenient: Bool = false,
    onHeader: () -> Void = {}
  ) throws(Failure) -> RenderedThumbnail {
    try unsafe picture.withUnsafeBufferPointer { (buffer) throws(Failure) in
      let input = unsafe PictureInput(buffer)
      let head = input.bytes(at: 0, upTo: FormatSniffer.examinedByteCount)
      let format = try FormatSniffer.format(of: head, allowing: limits.allowedFormats)
      do throws(Failure) {
        return try thumbnail(of: input, in: format, as: variant, .whole, onHeader)
      } catch {
        guard isLenient, error.code == .corruptImage, format.isDecodedInPart else { throw error }
      }
      return try thumbnail(of: input, in: format, as: variant, .readablePart, onHeader)
    }
  }

  /// The same for the bytes of an array.
  package func thumbnail(
    of picture: [UInt8], as variant: Variant, isLenient: Bool = false
  ) throws(Failure) -> RenderedThumbnail {
    try thumbnail(of: picture.span, as: variant, isLenient: isLenient)
  }

  private func thumbnail(
    of input: PictureInput, in format: ImageFormat, as variant: Variant, _ extent: DecodeExtent,
    _ onHeader: () -> Void
  ) throws(Failure) -> RenderedThumbnail {
    VipsError.forgetEarlier()
    let opened = try open(input, in: format, extent)
    let header = opened.header
    try checkLimits(header)
    onHeader()
    let geometry = ThumbnailGeometry(source: header.upright, variant: variant)
    let plan = DecodePlan(for: opened, to: geometry, as: variant)
    let source = SourceFacts(
      format: format, width: header.upright.width, height: header.upright.height,
      frames: header.frames, decodePath: plan.path)
    switch plan {
    case .planar(let jpeg):
      return try planarThumbnail(of: jpeg, to: geometry, as: variant, source: source)
    case .general(let picture):
      let image = try decode(picture, to: geometry)
      return try encode(
        image, as: variant, isDamaged: extent == .readablePart, source: source)
    }
  }

  private func open(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent
  ) throws(Failure) -> any OpenPicture {
    do throws(DecodeError) {
      return switch format {
      case .jpeg: try JPEGPicture(input, extent)
      case .bmp: try BitmapPicture(input, extent)
      case .ico: try IconPicture(input, extent)
      default: try VipsPicture(input, in: format, extent)
      }
    } catch {
      throw error.failure(within: limits)
    }
  }

  /// Refuses by the header, before memory is taken for a single pixel. Only the pixels of the first
  /// frame count, as no other is decoded.
  private func checkLimits(_ header: PictureHeader) throws(Failure) {
    let (width, height) = (header.stored.width, header.stored.height)
    guard Int64(width * height) <= limits.maxPixels else {
      throw Failure(
        stage: .decode, code: .tooManyPixels,
        detail: "\(width) × \(height) pixels; the limit is \(limits.maxPixels)")
    }
    guard header.frames <= limits.maxFrames else {
      throw Failure(
        stage: .decode, code: .tooManyFrames,
        detail: "\(header.frames) frames; the limit is \(limits.maxFrames)")
    }
    guard header.embeddedPixelCount <= limits.maxPixels else {
      throw Failure(
        stage: .decode, code: .tooManyPixels,
        detail: "\(header.embeddedPixelCount) pixels in the pictures inside it; "
          + "the limit is \(limits.maxPixels)")
    }
  }

  private func planarThumbnail(
    of picture: JPEGPicture, to geometry: ThumbnailGeometry, as variant: Variant,
    source: SourceFacts
  ) throws(Failure) -> RenderedThumbnail {
    let bytes: [UInt8]
    do throws(DecodeError) {
      bytes = try picture.planarFrame(for: picture.header.oriented(geometry.scaled)).thumbnail(
        to: geometry, from: Orientation(picture.header.orientation), quality: variant.quality)
    } catch {
      throw error.failure(within: limits)
    }
    let thumbnail = Thumbnail(
      format: .jpeg, width: geometry.kept.width, height: geometry.kept.height,
      byteCount: bytes.count)
    return RenderedThumbnail(thumbnail: thumbnail, bytes: bytes, source: source)
  }

  /// The pixels of the thumbnail, in memory.
  private func decode(
    _ picture: any OpenPicture, to geometry: ThumbnailGeometry
  ) throws(Failure) -> Image {
    let size = picture.header.oriented(geometry.scaled)
    do throws(DecodeError) {
      let frame = try picture.firstFrame(for: size)
      do throws(VipsError) {
        let whole = try frame.inEightBits().scaled(to: size).inEightBitSRGB().inMemory()
          .upright(from: picture.header.orientation)
        guard geometry.kept != geometry.scaled else { return whole }
        // Cut only now: a decoder that is asked for the middle alone overlooks that the end is
        // missing.
        let origin = geometry.keptOrigin
        return try whole.cropped(
          left: origin.left, top: origin.top, width: geometry.kept.width,
          height: geometry.kept.height)
      } catch {
        throw picture.reason(for: error)
      }
    } catch {
      throw error.failure(within: limits)
    }
  }

  private func encode(
    _ image: consuming Image, as variant: Variant, isDamaged: Bool, source: SourceFacts
  ) throws(Failure) -> RenderedThumbnail {
    do {
      let image = try image.inMemory()
      let isTransparent = image.hasAlpha && !image.isOpaque
      let encoding = ThumbnailEncoding(variant.format, isTransparent: isTransparent)
      let (width, height) = (image.width, image.height)
      let shown: Image
      if !isTransparent {
        shown = try image.withoutAlpha()
      } else if encoding.holdsTransparency {
        shown = image
      } else {
        shown = try image.flattened()
      }
      let bytes = try encoding.encode(shown, quality: variant.quality)
      let thumbnail = Thumbnail(
        format: encoding.format, width: width, height: height, byteCount: bytes.count,
        isDamaged: isDamaged)
      return RenderedThumbnail(thumbnail: thumbnail, bytes: bytes, source: source)
    } catch {
      guard !error.isOutOfMemory else {
        throw .outOfMemory(decoderMemory: limits.decoderMemoryByteCount)
      }
      throw Failure(stage: .decode, code: .internal, detail: error.description)
    }
  }
}
