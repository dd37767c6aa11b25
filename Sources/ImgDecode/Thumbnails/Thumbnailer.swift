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
    try limits.decoding(picture) { (input) throws(DecodeError) in
      let format = try limits.format(of: input)
      do throws(DecodeError) {
        return try thumbnails(of: input, in: format, as: variants, .whole, onHeader)
      } catch {
        guard isLenient, case .corrupt = error, format.isDecodedInPart else { throw error }
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
    guard let variant = try? Variant(ImageVariant(width: side, height: side)) else {
      preconditionFailure("a thumbnail may have that size")
    }
    return try limits.decoding(picture) { (input) throws(DecodeError) in
      let opened = try open(input, in: limits.format(of: input), .whole, as: [variant], onHeader)
      return try PixelReader(opened.picture, as: variant).facts()
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
    try limits.decoding(picture) { (input) throws(DecodeError) in
      let format = try limits.format(of: input)
      let (opened, video) = try open(input, in: format, .whole, as: [variant], onHeader)
      let frames = PictureFrames(
        input: input, format: format, extent: .whole, count: opened.header.frames, video: video)
      let picture: any OpenPicture
      switch try frames.choice(variant.frames) {
      case .still: picture = opened
      case .frame(let number): picture = try frames.picture(number, of: opened)
      case .poster, .animation: throw .unsupportedAnimation("more than one frame")
      }
      let reader = PixelReader(picture, as: variant)
      try limits.check(picture.header, becoming: reader.geometry)
      try limits.check(pixelsOf: reader.geometry)
      let (pixels, thumbHash) = try reader.pixels(of: format)
      return RenderedThumbnails(
        thumbnails: [pixels], source: SourceFacts(opened.header, of: format), thumbHash: thumbHash)
    }
  }

  private func thumbnails(
    of input: PictureInput, in format: ImageFormat, as variants: [Variant],
    _ extent: DecodeExtent, _ onHeader: () -> Void
  ) throws(DecodeError) -> RenderedThumbnails {
    let (opened, video) = try open(input, in: format, extent, as: variants, onHeader)
    let frames = PictureFrames(
      input: input, format: format, extent: extent, count: opened.header.frames, video: video,
      depth: variants[0].depth)
    let made = try thumbnails(of: frames, in: opened, as: variants)
    return RenderedThumbnails(
      thumbnails: made.thumbnails,
      source: SourceFacts(opened.header, of: format, decodePath: made.path),
      thumbHash: made.thumbHash)
  }

  private func thumbnails(
    of frames: PictureFrames, in opened: any OpenPicture, as variants: [Variant]
  ) throws(DecodeError) -> FrameDecoder.Made {
    let isDamaged = frames.extent == .readablePart
    switch try frames.choice(variants[0].frames) {
    case .still:
      return try FrameDecoder(picture: opened, variants: variants, isDamaged: isDamaged)
        .thumbnails()
    case .frame(let number):
      let picture = try frames.picture(number, of: opened)
      let decoder = FrameDecoder(picture: picture, variants: variants, isDamaged: isDamaged)
      // The pages of a document differ in size.
      for geometry in decoder.geometries {
        try limits.check(picture.header, becoming: geometry)
      }
      return try decoder.thumbnails()
    case .poster:
      return try gathered(variants) { (variant) throws(DecodeError) in
        try AnimationDecoder(frames: frames, picture: opened, variant: variant).poster()
      }
    case .animation:
      return try gathered(variants) { (variant) throws(DecodeError) in
        let decoder = AnimationDecoder(
          frames: frames, picture: opened, variant: variant.ofAnimation)
        try limits.check(frameCount: frames.count, of: decoder.geometry)
        return try decoder.animation()
      }
    }
  }

  private func gathered(
    _ variants: [Variant], _ make: (Variant) throws(DecodeError) -> AnimationDecoder.Made
  ) throws(DecodeError) -> FrameDecoder.Made {
    let made = try variants.map(make)
    return FrameDecoder.Made(
      thumbnails: made.map(\.thumbnail), thumbHash: made[0].thumbHash, path: .general)
  }

  /// Reads the header, and checks it.
  ///
  /// - Returns: also the sequence that the variants' frame is from, if it is from one.
  private func open(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent,
    as variants: [Variant], _ onHeader: () -> Void
  ) throws(DecodeError) -> (picture: any OpenPicture, video: PictureSequence?) {
    var video: PictureSequence?
    let opened = try limits.opened(as: variants, onHeader) { () throws(DecodeError) in
      video = try SequencePicture.sequence(in: input, as: format, variants[0].frames)
      return try open(input, in: format, extent, variants[0].depth, video)
    }
    return (opened, video)
  }

  private func open(
    _ input: PictureInput, in format: ImageFormat, _ extent: DecodeExtent,
    _ depth: ImageVariant.Depth, _ video: PictureSequence?
  ) throws(DecodeError) -> any OpenPicture {
    if let video { return SequencePicture(video, in: input, depth) }
    switch format {
    case .jpeg: return try JPEGPicture(input, extent)
    case .bmp: return try BitmapPicture(input, extent)
    case .ico: return try IconPicture(input, extent)
    case .pnm: return try AnymapPicture(input, extent, depth)
    case .webp where extent == .whole:
      if let picture = WebPPicture(input) { return picture }
    case .jxl:
      if let animation = try JXLPicture(input, depth, maxPixels: limits.maxPixels) {
        return animation
      }
    default: break
    }
    return try VipsPicture(input, in: format, extent)
  }
}

/// The way of one open picture to its pixels as a thumbnail has them: the usual one, but for the encoding.
/// Its first frame counts, or its first page.
struct PixelReader {
  let picture: any OpenPicture
  let geometry: ThumbnailGeometry
  private let renderer: FrameRenderer

  init(_ picture: any OpenPicture, as variant: Variant) {
    let variant = variant.inEightBits
    self.picture = picture
    geometry = ThumbnailGeometry(of: picture.header, as: variant)
    renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
  }

  /// The frame, scaled and not cropped.
  ///
  /// - Throws: also when the pixels show damage.
  private func frame() throws(DecodeError) -> Image {
    let size = picture.header.oriented(geometry.scaled)
    let frame = try picture.firstFrame(for: size)
    do throws(VipsError) {
      return try renderer.scaled(frame, to: size)
    } catch {
      throw picture.reason(for: error)
    }
  }

  /// What the pixels tell.
  func facts() throws(DecodeError) -> PixelFacts {
    let frame = try frame()
    let small = SmallPicture(
      frame, showing: picture.header.upright, orientation: picture.header.orientation,
      side: SmallPicture.maximumSide)
    return PixelFacts(small, thumbHash: try thumbHash(of: frame))
  }

  /// - Parameter format: of the picture.
  func pixels(
    of format: ImageFormat
  ) throws(DecodeError) -> (pixels: EncodedThumbnail, thumbHash: ThumbHash) {
    let frame = try frame()
    let image = try picture.decoding { () throws(VipsError) in
      try renderer.finished(frame).inSRGB(.eight).withAlpha().inMemory()
    }
    precondition(image.hasByteSamples && image.bandCount == 4, "a thumbnail is in 8-bit sRGB")
    var samples: [UInt8] = []
    image.withSamples { unsafe samples = $0.withUnsafeBufferPointer { unsafe Array($0) } }
    let thumbnail = Thumbnail(
      format: format, width: image.width, height: image.height, byteCount: samples.count)
    return (EncodedThumbnail(thumbnail: thumbnail, bytes: samples), try thumbHash(of: frame))
  }

  private func thumbHash(of frame: borrowing Image) throws(DecodeError) -> ThumbHash {
    do throws(VipsError) {
      return try renderer.thumbHash(of: frame)
    } catch {
      throw picture.reason(for: error)
    }
  }
}

extension SourceFacts {
  /// What a header says of a picture.
  init(_ header: PictureHeader, of format: ImageFormat, decodePath: DecodePath = .general) {
    self.init(
      format: format, width: header.upright.width, height: header.upright.height,
      frames: header.frames, decodePath: decodePath)
  }
}

extension Thumbnailer {
  /// What the pixels tell, and the frames of an animated JPEG XL: only its decoder can read their headers.
  ///
  /// - Throws: as ``thumbnails(of:as:isLenient:onHeader:)`` does.
  package func description(
    of picture: Span<UInt8>, onHeader: () -> Void = {}
  ) throws(Failure) -> PictureDescription {
    let pixels = try pixelFacts(of: picture, onHeader: onHeader)
    let delays = unsafe picture.withUnsafeBufferPointer { buffer in
      Self.frameDelays(of: unsafe PictureInput(buffer))
    }
    guard let description = PictureDescription(pixels: pixels, frameDelays: delays) else {
      preconditionFailure("a decoder reads as many frames as may be told")
    }
    return description
  }

  /// - Parameter input: a picture that has been decoded, so that its frames are within the limits.
  private static func frameDelays(of input: PictureInput) -> [Int]? {
    guard let facts = try? PictureFacts.reading(input, .header), facts.format == .jxl,
      facts.isAnimated == true,
      let delays = try? JXLDecoder(input, .headers).frameDelays(), !delays.isEmpty,
      // That the last frame is cut shows only in its pixels.
      (try? JXLFrames(input, startingAt: delays.count - 1).next()) ?? nil != nil
    else { return nil }
    return delays
  }
}

/// How a picture is going to become its thumbnails. The header and the request decide it, here alone.
enum DecodePlan {
  /// The luma and chroma of a JPEG or a WebP are resized as they are stored, and encoded, with other colours than those of sRGB
  /// converted in between. That takes about a third of the time. The places are where what each thumbnail keeps begins.
  case planar(any PlanarPicture, at: [ThumbnailGeometry.Point])
  /// All others become pixels.
  case general

  /// - Parameter size: what the frame is decoded for, as stored.
  /// - Throws: what a picture's decoder says of its header.
  init(
    for picture: any OpenPicture, decodedFor size: ThumbnailGeometry.Size,
    to geometries: [ThumbnailGeometry], as variants: [Variant]
  ) throws(DecodeError) {
    let origins = geometries.compactMap(\.keptOrigin)
    guard let picture = picture as? any PlanarPicture, picture.isPlanar,
      origins.count == geometries.count,
      variants.allSatisfy(\.keepsPlanes),
      try PlanarSource.canGive(
        zip(geometries, variants).map { picture.target(of: $0, as: $1) }, of: picture,
        decodedFor: size)
    else {
      self = .general
      return
    }
    self = .planar(picture, at: origins)
  }
}

extension PlanarPicture {
  /// What a thumbnail is before it is cropped, if it is made from planes.
  func target(of geometry: ThumbnailGeometry, as variant: Variant) -> PlanarSource.Target {
    .init(
      size: header.oriented(geometry.scaled),
      encoding: JPEGEncoding(quality: variant.quality, hasChroma: hasChroma),
      isConverted: conversion != nil)
  }
}

extension ImageVariant {
  /// Whether an opaque picture becomes a JPEG, and its pixels stay as they are.
  fileprivate var keepsPlanes: Bool {
    [.auto, .compatible, .jpeg].contains(format) && keptData == .none
      && effects == Effects(background: effects.background)
  }
}

/// Refuses by the first bytes and the header, before memory is taken for a single pixel.
struct DecodeLimits {
  private let limits: Limits

  init(_ limits: Limits) {
    self.limits = limits
  }

  var maxPixels: Int64 { limits.maxPixels }

  /// Decodes a picture in place. An error becomes a failure, which may tell of the limits.
  func decoding<Result>(
    _ picture: Span<UInt8>, _ body: (PictureInput) throws(DecodeError) -> Result
  ) throws(Failure) -> Result {
    do throws(DecodeError) {
      return try unsafe picture.withUnsafeBufferPointer { (buffer) throws(DecodeError) in
        try body(unsafe PictureInput(buffer))
      }
    } catch {
      throw error.failure(within: limits)
    }
  }

  /// - Throws: ``DecodeError/refused(_:)``: `not_an_image` or `unsupported_format`.
  func format(of input: PictureInput) throws(DecodeError) -> ImageFormat {
    let head = input.bytes(at: 0, upTo: FormatSniffer.examinedByteCount)
    do throws(Failure) {
      return try FormatSniffer.format(of: head, allowing: limits.allowedFormats)
    } catch {
      throw .refused(error)
    }
  }

  /// Opens a picture, and checks its header for all its thumbnails.
  ///
  /// - Parameter onHeader: called when the header is within the limits.
  func opened(
    as variants: [Variant], _ onHeader: () -> Void,
    _ open: () throws(DecodeError) -> any OpenPicture
  ) throws(DecodeError) -> any OpenPicture {
    VipsError.forgetEarlier()
    let picture = try open()
    for variant in variants {
      try check(picture.header, becoming: ThumbnailGeometry(of: picture.header, as: variant))
    }
    onHeader()
    return picture
  }

  /// - Throws: ``DecodeError/refused(_:)``: `too_many_pixels` or `too_many_frames`.
  func check(_ header: PictureHeader, becoming geometry: ThumbnailGeometry) throws(DecodeError) {
    // Only the pixels of the first frame count, as no other is decoded.
    let decoded = header.uncropped ?? header.stored
    try check(decoded.pixelCount, "\(decoded.width) × \(decoded.height) pixels")
    try rethrowing(try limits.check(frameCount: header.frames), as: DecodeError.refused)
    try check(
      header.embeddedPixelCount, "\(header.embeddedPixelCount) pixels in the pictures inside it")
    if let refused = geometry.refused {
      throw .refused(
        .tooManyPixels,
        detail: "the thumbnail would have \(refused.width) × \(refused.height) pixels, more than "
          + "the request permits; ask for a smaller one, or give both sides")
    }
    // A picture that is enlarged, or has a border.
    for size in [geometry.scaled, geometry.padded] {
      try check(size.pixelCount, "a thumbnail of \(size.width) × \(size.height) pixels")
    }
  }

  /// - Throws: ``DecodeError/refused(_:)``: `too_many_pixels` if a thumbnail of all frames has too many.
  func check(frameCount: Int, of geometry: ThumbnailGeometry) throws(DecodeError) {
    let size = geometry.padded
    // Both factors are within limits, so that the product is, too.
    try check(
      size.pixelCount * Int64(frameCount),
      "a thumbnail of \(frameCount) frames of \(size.width) × \(size.height) pixels")
  }

  /// - Throws: ``DecodeError/refused(_:)``: `too_large` if the pixels take more bytes than a thumbnail may have.
  func check(pixelsOf geometry: ThumbnailGeometry) throws(DecodeError) {
    let size = geometry.padded
    let byteCount = size.pixelCount * 4
    guard byteCount <= limits.maxThumbnailByteCount else {
      throw .refused(
        .tooLarge,
        detail: "\(size.width) × \(size.height) pixels take \(byteCount) bytes; "
          + "\(limits.maxThumbnailByteCount) are the most")
    }
  }

  private func check(_ pixelCount: Int64, _ what: String) throws(DecodeError) {
    try rethrowing(try limits.check(pixelCount: pixelCount, what), as: DecodeError.refused)
  }
}
