import ImgFacts
package import ImgModel

/// Makes thumbnails: bytes of a picture in, bytes of a thumbnail out, within limits. It opens no
/// file.
///
/// A call takes as long as the picture does. A caller with a time limit runs it on a thread or in a
/// process that it can abandon.
package struct Thumbnailer: Sendable {
  private let limits: DecodeLimits

  /// - Parameter runtime: the proof that libvips was started.
  package init(runtime: VipsRuntime, limits: Limits) {
    self.limits = DecodeLimits(limits)
  }

  /// The steps from a body to its thumbnails. The picture is decoded once for all of them, except that
  /// frames of animations are decoded once for each.
  ///
  /// - Parameters:
  ///   - picture: decoded in place.
  ///   - variants: at least one; they differ in their boxes alone.
  ///   - isLenient: whether a picture that turns out to be damaged is decoded once more, as far as
  ///     possible. The caller's limits of time and memory are for both decodes together.
  ///   - onHeader: called whenever the header has been read and is within the limits.
  /// - Throws: a ``Failure`` of stage `decode`: `not_an_image`, `unsupported_format`,
  ///   `too_many_pixels`, `too_many_frames`, `frame_out_of_range`, `unsupported_animation`,
  ///   `corrupt_image` (also when pixels are missing), `out_of_memory`, or `internal` when a decoded
  ///   picture cannot be encoded.
  package func thumbnails(
    of picture: Span<UInt8>, as variants: [Variant], isLenient: Bool = false,
    onHeader: () -> Void = {}
  ) throws(Failure) -> RenderedThumbnails {
    try unsafe picture.withUnsafeBufferPointer { (buffer) throws(Failure) in
      let input = unsafe PictureInput(buffer)
      let format = try limits.format(of: input)
      do throws(Failure) {
        return try thumbnails(of: input, in: format, as: variants, .whole, onHeader)
      } catch {
        guard isLenient, error.code == .corruptImage, format.isDecodedInPart else { throw error }
      }
      return try thumbnails(of: input, in: format, as: variants, .readablePart, onHeader)
    }
  }

  /// What the pixels tell: placeholders and colours. The first frame counts, or the first page.
  ///
  /// - Throws: as ``thumbnails(of:as:isLenient:onHeader:)`` does.
  package func pixelFacts(
    of picture: Span<UInt8>, onHeader: () -> Void = {}
  ) throws(Failure) -> PixelFacts {
    let side = SmallPicture.maximumSide
    guard let variant = try? Variant(width: side, height: side) else {
      preconditionFailure("a thumbnail may have that size")
    }
    return try unsafe picture.withUnsafeBufferPointer { (buffer) throws(Failure) in
      let input = unsafe PictureInput(buffer)
      let opened = try open(input, in: limits.format(of: input), .whole, as: [variant], onHeader)
        .picture
      return try limits.failing { () throws(DecodeError) in
        try PixelReader(opened, as: variant).facts()
      }
    }
  }

  /// The pixels of one frame, as a thumbnail shows them: RGBA in sRGB, 8 bits a sample, unassociated
  /// alpha, rows from the top without gaps. They are given as a thumbnail with the format of the picture.
  ///
  /// - Parameter variant: its encoding does not count.
  /// - Throws: as ``thumbnails(of:as:isLenient:onHeader:)`` does, and `too_large`.
  package func pixels(
    of picture: Span<UInt8>, as variant: Variant, onHeader: () -> Void = {}
  ) throws(Failure) -> RenderedThumbnails {
    try unsafe picture.withUnsafeBufferPointer { (buffer) throws(Failure) in
      let input = unsafe PictureInput(buffer)
      let format = try limits.format(of: input)
      let (opened, video) = try open(input, in: format, .whole, as: [variant], onHeader)
      let frames = PictureFrames(
        input: input, format: format, extent: .whole, count: opened.header.frames, video: video)
      let picture = try limits.failing { () throws(DecodeError) in
        switch try frames.choice(variant.frames) {
        case .still: return opened
        case .frame(let number): return try frames.picture(number, of: opened)
        case .poster, .animation: throw .unsupportedAnimation("more than one frame")
        }
      }
      let renderer = PixelRenderer(picture, as: variant)
      try limits.check(picture.header, becoming: renderer.geometry)
      try limits.check(pixelsOf: renderer.geometry)
      let (pixels, thumbHash) = try limits.failing { () throws(DecodeError) in
        try renderer.pixels(of: format)
      }
      let header = opened.header
      return RenderedThumbnails(
        thumbnails: [pixels],
        source: SourceFacts(
          format: format, width: header.upright.width, height: header.upright.height,
          frames: header.frames),
        thumbHash: thumbHash)
    }
  }

  /// The same for one variant.
  package func thumbnail(
    of picture: Span<UInt8>, as variant: Variant, isLenient: Bool = false
  ) throws(Failure) -> RenderedThumbnail {
    let made = try thumbnails(of: picture, as: [variant], isLenient: isLenient)
    return RenderedThumbnail(
      thumbnail: made.thumbnails[0].thumbnail, bytes: made.thumbnails[0].bytes,
      source: made.source, thumbHash: made.thumbHash)
  }

  /// The same for the bytes of an array.
  package func thumbnail(
    of picture: [UInt8], as variant: Variant, isLenient: Bool = false
  ) throws(Failure) -> RenderedThumbnail {
    try thumbnail(of: picture.span, as: variant, isLenient: isLenient)
  }

  private func thumbnails(
    of input: PictureInput, in format: ImageFormat, as variants: [Variant],
    _ extent: DecodeExtent, _ onHeader: () -> Void
  ) throws(Failure) -> RenderedThumbnails {
    let (opened, video) = try open(input, in: format, extent, as: variants, onHeader)
    let header = opened.header
    let frames = PictureFrames(
      input: input, format: format, extent: extent, count: header.frames, video: video)
    let made = try thumbnails(of: frames, in: opened, as: variants)
    return RenderedThumbnails(
      thumbnails: made.thumbnails,
      source: SourceFacts(
        format: format, width: header.upright.width, height: header.upright.height,
        frames: header.frames, decodePath: made.path),
      thumbHash: made.thumbHash)
  }

  private func thumbnails(
    of frames: PictureFrames, in opened: any OpenPicture, as variants: [Variant]
  ) throws(Failure) -> FrameDecoder.Made {
    let isDamaged = frames.extent == .readablePart
    switch try limits.failing({ () throws(DecodeError) in try frames.choice(variants[0].frames) }) {
    case .still:
      let decoder = FrameDecoder(picture: opened, variants: variants, isDamaged: isDamaged)
      return try limits.failing { () throws(DecodeError) in try decoder.thumbnails() }
    case .frame(let number):
      let picture = try limits.failing { () throws(DecodeError) in
        try frames.picture(number, of: opened)
      }
      let decoder = FrameDecoder(picture: picture, variants: variants, isDamaged: isDamaged)
      // The pages of a document differ in size.
      for geometry in decoder.geometries {
        try limits.check(picture.header, becoming: geometry)
      }
      return try limits.failing { () throws(DecodeError) in try decoder.thumbnails() }
    case .poster:
      return try gathered(variants) { (variant) throws(Failure) in
        let decoder = AnimationDecoder(frames: frames, picture: opened, variant: variant)
        return try limits.failing { () throws(DecodeError) in try decoder.poster() }
      }
    case .animation:
      return try gathered(variants) { (variant) throws(Failure) in
        let decoder = AnimationDecoder(
          frames: frames, picture: opened, variant: variant.ofAnimation)
        try limits.check(frameCount: frames.count, of: decoder.geometry)
        return try limits.failing { () throws(DecodeError) in try decoder.animation() }
      }
    }
  }

  private func gathered(
    _ variants: [Variant], _ make: (Variant) throws(Failure) -> AnimationDecoder.Made
  ) throws(Failure) -> FrameDecoder.Made {
    var made: [AnimationDecoder.Made] = []
    for variant in variants { made.append(try make(variant)) }
    return FrameDecoder.Made(
      thumbnails: made.map(\.thumbnail), thumbHash: made[0].thumbHash, path: .general)
  }

  /// Reads the header, and checks it.
  ///
  /// - Returns: also the sequence that the variants' frame is from, if it is from one.
  private func open(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent,
    as variants: [Variant], _ onHeader: () -> Void
  ) throws(Failure) -> (picture: any OpenPicture, video: PictureSequence?) {
    var video: PictureSequence?
    let opened = try limits.opened(as: variants, onHeader) { () throws(DecodeError) in
      video = try SequencePicture.sequence(in: input, as: format, variants[0].frames)
      return try open(input, in: format, extent, video)
    }
    return (opened, video)
  }

  private func open(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent,
    _ video: PictureSequence?
  ) throws(DecodeError) -> any OpenPicture {
    if let video { return SequencePicture(video, in: input) }
    switch format {
    case .jpeg: return try JPEGPicture(input, extent)
    case .bmp: return try BitmapPicture(input, extent)
    case .ico: return try IconPicture(input, extent)
    case .pnm: return try AnymapPicture(input, extent)
    case .jxl:
      if let animation = try JXLPicture(input, maxPixels: limits.maxPixels) { return animation }
    default: break
    }
    return try VipsPicture(input, in: format, extent)
  }
}
