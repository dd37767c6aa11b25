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
  func choice(_ selection: FrameSelection) throws(DecodeError) -> FrameChoice {
    switch selection {
    case .first: return .still
    case .poster: return isAnimation ? .poster : .still
    case .number(let number): return try choice(number: number)
    case .time(let milliseconds):
      try requireDecodable()
      guard isAnimation else { return .still }
      return .frame(try timeline().frame(at: milliseconds))
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
    guard let sequence = try sequence(startingAt: 0) else {
      return try VipsFrames(input, in: format)
    }
    return sequence
  }

  /// - Returns: `nil` for a format whose loader finds a frame by itself.
  private func sequence(startingAt first: Int) throws(DecodeError) -> (any FrameSequence)? {
    if let video { return try SequenceFrames(video, in: input, startingAt: first) }
    return switch format {
    case .png: try APNGFrames(input, startingAt: first)
    case .jxl: try JXLFrames(input, startingAt: first)
    default: nil
    }
  }

  /// One frame as a picture of its own, opened.
  ///
  /// - Parameter picture: the opened file.
  func picture(
    _ number: Int, of picture: any OpenPicture
  ) throws(DecodeError) -> any OpenPicture {
    guard let sequence = try sequence(startingAt: number) else {
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
