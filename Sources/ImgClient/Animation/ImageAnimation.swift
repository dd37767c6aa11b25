import ImgFacts
import ImgModel

/// When the frames of an animated thumbnail are shown.
public struct ImageAnimation: Hashable, Sendable {
  /// How long each frame is shown, as browsers play it: a delay of at most 10 ms in the file is 100 ms.
  public let delays: [Duration]
  /// How often the frames are shown; `nil` for ever.
  public let loopCount: Int?

  /// An animation, such as one for a test.
  ///
  /// - Parameters:
  ///   - delays: one for each frame, as the file says it; see ``delays``.
  ///   - loopCount: at least 1; `nil` for ever.
  public init(delays: [Duration], loopCount: Int? = nil) {
    self.delays = delays.map(Self.played)
    self.loopCount = loopCount.map { max(1, $0) }
  }

  private static func played(_ delay: Duration) -> Duration {
    let milliseconds = Int(clamping: delay.milliseconds)
    let played = FrameDelay.played(milliseconds)
    return played == milliseconds ? delay : .milliseconds(played)
  }

  /// The number of frames.
  public var frameCount: Int { delays.count }

  /// How long one pass through the frames takes.
  public var duration: Duration { delays.reduce(.zero, +) }
}

extension LoadedImage {
  /// When the frames of the thumbnail are shown; `nil` for a still, and for bytes that cannot be read.
  ///
  /// It is read from the bytes at each access, without decoding, so keep it. Thumbnails are animated if
  /// ``ImageVariant/frames`` is ``ImageVariant/Frames/all``.
  public var animation: ImageAnimation? {
    guard [.gif, .webp].contains(type),
      let facts = try? PictureFacts.reading(WholeBytes(bytes), .all),
      let delays = facts.frameDelays,
      delays.count > 1
    else { return nil }
    return ImageAnimation(
      delays: delays.map { .milliseconds($0) },
      loopCount: facts.loopCount == 0 ? nil : facts.loopCount ?? 1)
  }
}
