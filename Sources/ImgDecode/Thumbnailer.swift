package import ImgWire

/// Makes thumbnails: bytes of a picture in, bytes of a thumbnail out, within limits. All that it
/// knows of a picture is in its bytes, and it opens no file.
///
/// A call takes as long as the picture does; whoever cannot wait runs it on a thread or in a
/// process that may be given up.
package struct Thumbnailer: Sendable {
  private let limits: Limits

  /// - Parameter runtime: the proof that libvips was started.
  package init(runtime: VipsRuntime, limits: Limits) {
    self.limits = limits
  }

  /// The steps from a body to a thumbnail of its first frame.
  ///
  /// - Throws: a ``Failure`` of stage `decode`: `not_an_image`, `unsupported_format`,
  ///   `too_many_frames`, `too_many_pixels`, `corrupt_image` (also when the end is missing), or
  ///   `internal` when a decoded picture cannot be encoded.
  package func thumbnail(
    of picture: EncodedPicture, as variant: Variant
  ) throws(Failure) -> RenderedThumbnail {
    let format = try FormatSniffer.format(of: picture.head)
    let source = try readHeader(of: picture, in: format)
    try checkLimits(source)
    let geometry = ThumbnailGeometry(
      source: .init(width: source.width, height: source.height), variant: variant)
    let image = try decode(picture, to: geometry)
    return try encode(image, as: variant, source: source)
  }

  /// The same for a picture in memory.
  package func thumbnail(
    of bytes: [UInt8], as variant: Variant
  ) throws(Failure) -> RenderedThumbnail {
    try thumbnail(of: .memory(bytes), as: variant)
  }

  private func readHeader(
    of picture: EncodedPicture, in format: ImageFormat
  ) throws(Failure) -> SourceFacts {
    do {
      let header = try Image.header(of: picture, in: format)
      return SourceFacts(
        format: format, width: header.width, height: header.height, frames: header.frames)
    } catch {
      throw Self.corrupt(error)
    }
  }

  /// Refuses by the header, before memory is taken for a single pixel.
  private func checkLimits(_ source: SourceFacts) throws(Failure) {
    guard source.frames <= limits.maxFrames else {
      throw Failure(
        stage: .decode, code: .tooManyFrames,
        detail: "\(source.frames) frames; the limit is \(limits.maxFrames)")
    }
    // Divided, not multiplied: the product of three numbers from a hostile header may overflow.
    guard Int64(source.width * source.height) <= limits.maxPixels / Int64(source.frames) else {
      throw Failure(
        stage: .decode, code: .tooManyPixels,
        detail: "\(source.frames) × \(source.width) × \(source.height) pixels; "
          + "the limit is \(limits.maxPixels)")
    }
  }

  private func decode(
    _ picture: EncodedPicture, to geometry: ThumbnailGeometry
  ) throws(Failure) -> Image {
    do {
      let whole = try Image.decoding(
        picture, width: geometry.scaled.width, height: geometry.scaled.height)
      guard geometry.kept != geometry.scaled else { return whole }
      // Cut only now: a decoder that is asked for the middle alone overlooks that the end is
      // missing.
      let origin = geometry.keptOrigin
      return try whole.cropped(
        left: origin.left, top: origin.top, width: geometry.kept.width,
        height: geometry.kept.height)
    } catch {
      throw Self.corrupt(error)
    }
  }

  private func encode(
    _ image: consuming Image, as variant: Variant, source: SourceFacts
  ) throws(Failure) -> RenderedThumbnail {
    do {
      let isTransparent = try image.isTransparent()
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
        format: encoding.format, width: width, height: height, byteCount: bytes.count)
      return RenderedThumbnail(thumbnail: thumbnail, bytes: bytes, source: source)
    } catch {
      throw Failure(stage: .decode, code: .internal, detail: error.description)
    }
  }

  private static func corrupt(_ error: VipsError) -> Failure {
    Failure(stage: .decode, code: .corruptImage, detail: error.description)
  }
}
