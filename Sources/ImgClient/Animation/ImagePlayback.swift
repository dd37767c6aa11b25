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
