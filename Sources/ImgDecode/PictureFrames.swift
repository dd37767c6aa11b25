import CVips
import ImgFacts
import ImgModel

/// The frames of a file: those of an animation, or the pages of a document.
struct PictureFrames {
  let input: PictureInput
  let format: ImageFormat
  let extent: DecodeExtent
  let count: Int
  /// Of an AVIF or HEIC sequence.
  let video: PictureSequence?
  /// Of a frame that is a picture of its own.
  var depth = ImageVariant.Depth.eight

  /// Whether they follow each other in time.
  var isAnimation: Bool {
    count > 1 && (video != nil || [.png, .gif, .webp, .jxl].contains(format))
  }

  /// What the file has more of, and what is not decoded; `nil` for nothing.
  private var undecodedAnimation: String? {
    guard [.avif, .heif].contains(format), video == nil,
      (try? PictureFacts.reading(input, .header))?.isAnimated == true
    else { return nil }
    return "any frame but the still of the \(format.rawValue) sequence"
  }

  /// What a thumbnail shows. The first frame and the first page are the picture that a reader without
  /// animations shows.
  func choice(_ selection: ImageVariant.Frames) throws(DecodeError) -> FrameChoice {
    switch selection {
    case .first: return .still
    case .poster: return isAnimation ? .poster : .still
    case .number(let number): return try choice(number: number)
    case .time(let time):
      try requireDecodable()
      guard isAnimation else { return .still }
      return .frame(try timeline().frame(at: Int(clamping: time.milliseconds)))
    case .all:
      try requireDecodable()
      return isAnimation ? .animation : .still
    }
  }

  private func choice(number: Int) throws(DecodeError) -> FrameChoice {
    if number > 0 { try requireDecodable() }
    guard number < count else { throw .noFrame(number, count: count) }
    // The picture for other readers may be none of the frames.
    return number > 0 || video != nil || isAnimation && format == .png ? .frame(number) : .still
  }

  private func requireDecodable() throws(DecodeError) {
    if let undecodedAnimation { throw .unsupportedAnimation(undecodedAnimation) }
  }

  /// When the frames are shown. Reads the whole file, so that one that is cut shows itself: libvips
  /// does not notice that a GIF ends in a later frame.
  func timeline() throws(DecodeError) -> Timeline {
    guard format != .jxl else { return try JXLDecoder(input, .headers).timeline() }
    let facts: PictureFacts
    do throws(FactsError) {
      facts = try PictureFacts.reading(input, .all)
    } catch {
      throw DecodeError(error)
    }
    guard let delays = facts.frameDelays, delays.count == count else {
      throw .corrupt("\(facts.frameDelays?.count ?? 0) of \(count) frames are there")
    }
    return Timeline(delays: delays, loopCount: facts.loopCount ?? 1)
  }

  /// All frames of an animation.
  func sequence() throws(DecodeError) -> any FrameSequence {
    guard let sequence = try sequence(startingAt: 0, .eight) else {
      return try VipsFrames(input, in: format)
    }
    return sequence
  }

  /// - Returns: `nil` for a format whose loader finds a frame by itself.
  private func sequence(
    startingAt first: Int, _ depth: ImageVariant.Depth
  ) throws(DecodeError) -> (any FrameSequence)? {
    if let video { return try SequenceFrames(video, in: input, startingAt: first, depth) }
    return switch format {
    case .png: try APNGFrames(input, startingAt: first)
    case .jxl: try JXLFrames(input, startingAt: first, depth)
    default: nil
    }
  }

  /// One frame as a picture of its own, opened.
  ///
  /// - Parameter picture: the opened file.
  func picture(
    _ number: Int, of picture: any OpenPicture
  ) throws(DecodeError) -> any OpenPicture {
    guard let sequence = try sequence(startingAt: number, depth) else {
      return try VipsPicture(input, in: format, extent, page: number)
    }
    guard let frame = try sequence.next() else { throw .noFrame(number, count: count) }
    return FramePicture(frame, of: picture)
  }
}

/// What a thumbnail shows of a file.
enum FrameChoice: Equatable {
  case still
  /// One frame, by its number.
  case frame(Int)
  /// The first frame that is not blank.
  case poster
  case animation
}

/// The frames of an animation that one of libvips' loaders reads.
///
/// The loader sees them as one tall image. It must be read from the top: every frame is drawn on the
/// ones before it.
final class VipsFrames: FrameSequence {
  private let strip: Image
  private let size: ThumbnailGeometry.Size
  private let count: Int
  private var index = 0
  /// Of a GIF.
  private var check: GIFFrameCheck?
  /// Of a GIF without an alpha channel.
  private var coverage: GIFCoverage?

  /// - Parameter input: a picture whose size is within the limits.
  init(_ input: PictureInput, in format: ImageFormat) throws(DecodeError) {
    do throws(VipsError) {
      strip = try Image.loading(input, as: format, pages: .all)
    } catch {
      throw DecodeError(error)
    }
    size = .init(width: strip.width, height: strip.pageHeight)
    count = strip.height / size.height
    guard format == .gif else { return }
    check = GIFFrameCheck(of: input)
    if !strip.hasAlpha { coverage = GIFCoverage(of: input, on: size) }
  }

  func next() throws(DecodeError) -> Image? {
    guard index < count else { return nil }
    try check?.advance()
    let frame = try nextFrame()
    index += 1
    guard coverage != nil else { return frame }
    coverage?.advance()
    return try coverage?.applied(to: frame)
  }

  private func nextFrame() throws(DecodeError) -> Image {
    do throws(VipsError) {
      return try strip.cropped(
        left: 0, top: index * size.height, width: size.width, height: size.height
      ).inMemory()
    } catch {
      throw DecodeError(error)
    }
  }
}

/// How animations are written. Metadata is left out, as in stills.
struct AnimationEncoding {
  /// WebP or GIF.
  let format: ImageFormat

  /// - Parameter format: one that holds animations.
  init(_ format: ImageVariant.Format) {
    self.format = format == .gif || format == .compatible ? .gif : .webp
  }

  /// What a delay is a multiple of, in milliseconds: GIF counts hundredths of a second (GIF89a section
  /// 23).
  private var delayUnit: Int { format == .gif ? 10 : 1 }

  /// In milliseconds: WebP has 24 bits for a delay, GIF has 16.
  private var longestDelay: Int { format == .gif ? 0xFFFF * delayUnit : 0xFF_FFFF }

  /// Encodes frames.
  ///
  /// WebP: effort 2, as for stills. libwebp makes one frame of neighbours that look alike, and adds
  /// their delays; no option prevents that.
  func encode(
    _ frames: consuming FrameStrip, _ timeline: Timeline, quality: Int
  ) throws(VipsError) -> [UInt8] {
    let delays = timeline.delays.map { Double(min($0, longestDelay)) }
    let animation = try frames.animation(
      delays: FrameDelay.rounded(delays, toMultiplesOf: delayUnit), loopCount: timeline.loopCount)
    guard format == .webp else { return try animation.encoded(suffix: ".gif[effort=3,strip]") }
    return WebPContainer.strippingMetadata(
      try animation.encoded(suffix: ".webp[Q=\(quality),effort=2,strip]"))
  }
}
