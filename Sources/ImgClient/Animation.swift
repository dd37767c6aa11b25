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
    guard [.gif, .webp].contains(format),
      let facts = try? PictureFacts.reading(WholeBytes(bytes), .all),
      let delays = facts.frameDelays,
      delays.count > 1
    else { return nil }
    return ImageAnimation(
      delays: delays.map { .milliseconds($0) },
      loopCount: facts.loopCount == 0 ? nil : facts.loopCount ?? 1)
  }
}

/// The frames of an animation at the times at which they are to be shown, for `for await`. Each iteration plays
/// the animation from its start.
///
/// ```swift
/// if let animation = image.animation {
///   for await frame in animation.playback() { show(frame) }
/// }
/// ```
///
/// A reader that is slow misses the frames whose time is over by then; one that is late by more than a whole
/// pass goes on where it was. The sequence ends when the last frame has had its time, and when the reader's
/// task is cancelled.
public struct ImagePlayback<PlaybackClock: Clock<Duration>>: AsyncSequence, Sendable {
  private let animation: ImageAnimation
  private let clock: PlaybackClock

  init(_ animation: ImageAnimation, _ clock: PlaybackClock) {
    self.animation = animation
    self.clock = clock
  }

  /// Prepares to play from the start.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(animation: animation, clock: clock)
  }

  /// One showing of the animation.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let animation: ImageAnimation
    private let clock: PlaybackClock
    /// Of the frame that is shown. It is `nil` before the first one.
    private var shown: (frame: Int, pass: Int, end: PlaybackClock.Instant)?

    fileprivate init(animation: ImageAnimation, clock: PlaybackClock) {
      self.animation = animation
      self.clock = clock
    }

    /// The index of the next frame to show, once its time has come; `nil` at the end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(Never) -> Int? {
      guard let last = shown else {
        guard let delay = animation.delays.first, !Task.isCancelled else { return nil }
        shown = (0, 0, clock.now.advanced(by: delay))
        return 0
      }
      do {
        try await clock.sleep(until: last.end, tolerance: nil)
      } catch {
        return nil
      }
      let now = clock.now
      guard var next = following(last, at: now) else { return nil }
      while next.end <= now, let later = following(next, at: now) { next = later }
      shown = next
      return next.frame
    }

    private func following(
      _ last: (frame: Int, pass: Int, end: PlaybackClock.Instant), at now: PlaybackClock.Instant
    ) -> (frame: Int, pass: Int, end: PlaybackClock.Instant)? {
      let isLastOfPass = last.frame + 1 == animation.frameCount
      let (frame, pass) = isLastOfPass ? (0, last.pass + 1) : (last.frame + 1, last.pass)
      if let count = animation.loopCount, pass >= count { return nil }
      let isFarBehind = last.end.duration(to: now) > animation.duration
      let start = isFarBehind ? now : last.end
      return (frame, pass, start.advanced(by: animation.delays[frame]))
    }
  }
}

extension ImageAnimation {
  /// The frames at the times at which they are to be shown.
  public func playback() -> ImagePlayback<ContinuousClock> { playback(on: ContinuousClock()) }

  /// The frames at the times of a clock.
  public func playback<PlaybackClock>(
    on clock: PlaybackClock
  ) -> ImagePlayback<PlaybackClock> {
    ImagePlayback(self, clock)
  }
}
