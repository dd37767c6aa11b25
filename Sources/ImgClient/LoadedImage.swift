public import FoundationEssentials
import ImgFacts
public import ImgModel

/// A thumbnail: encoded bytes, what is known of them, and of the picture that they were made from.
public struct LoadedImage: Hashable, Sendable {
  /// Where a thumbnail came from.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Origin: String, Hashable, Sendable {
    /// The memory cache of this process, see ``ImageMemoryCache``.
    case memory
    /// The store that all processes of the machine share: it had the thumbnail, or the original that the thumbnail
    /// was made from.
    case store
    /// It was made for this request from a picture that was fetched, or that was given, or it could not be stored.
    case network
  }

  /// The encoded thumbnail.
  public let bytes: [UInt8]
  let thumbnail: Thumbnail
  /// The picture that it was made from.
  public let source: SourcePicture
  /// When the store took it; `nil` if it is not stored.
  public internal(set) var storedAt: Date?
  /// The image is not served from this time on; `nil` if it is not stored, so that nothing may keep it.
  public internal(set) var expiresAt: Date?
  /// Where this result came from.
  public internal(set) var origin: Origin
  /// Whether each access in the store moves the expiry.
  let isExpirySliding: Bool

  /// A thumbnail, such as one for a test.
  public init(
    bytes: [UInt8], format: ImageFormat, width: Int, height: Int, source: SourcePicture,
    storedAt: Date? = nil, expiresAt: Date? = nil, origin: Origin
  ) {
    self.init(
      bytes: bytes,
      Thumbnail(format: format, width: width, height: height, byteCount: bytes.count), of: source,
      storedAt: storedAt, expiresAt: expiresAt, origin: origin)
  }

  private init(
    bytes: [UInt8], _ thumbnail: Thumbnail, of source: SourcePicture, storedAt: Date? = nil,
    expiresAt: Date? = nil, isExpirySliding: Bool = false, origin: Origin
  ) {
    self.bytes = bytes
    self.thumbnail = thumbnail
    self.source = source
    self.storedAt = storedAt
    self.expiresAt = expiresAt
    self.isExpirySliding = isExpirySliding
    self.origin = origin
  }

  /// A record of the store.
  init(_ stored: StoredResult, origin: Origin) {
    let record = stored.record
    self.init(
      bytes: stored.bytes, record.thumbnail, of: record.source, storedAt: record.storedAt,
      expiresAt: record.expiresAt, isExpirySliding: record.lifetime > .zero, origin: origin)
  }

  /// A thumbnail that was made and not stored.
  init(_ made: UncachedPicture) {
    self.init(
      bytes: made.bytes, made.facts.thumbnail, of: made.facts.source, origin: .network)
  }

  /// Its encoding.
  public var format: ImageFormat { thumbnail.format }
  /// Its width in pixels, upright.
  public var width: Int { thumbnail.width }
  /// Its height in pixels, upright.
  public var height: Int { thumbnail.height }
  /// A placeholder of some 25 bytes for the picture, in the format of ThumbHash; `nil` if the cluster
  /// could not make one.
  public var thumbHash: [UInt8]? { source.thumbHash?.bytes }

  /// The same thumbnail, from elsewhere.
  func from(_ origin: Origin) -> LoadedImage {
    var image = self
    image.origin = origin
    return image
  }

  /// The same thumbnail, as it is stored; `nil` for one that is not.
  func stored(at storedAt: Date?, until expiresAt: Date?) -> LoadedImage {
    var image = self
    image.storedAt = storedAt
    image.expiresAt = expiresAt
    return image
  }

  /// The same thumbnail, without its bytes if there are more than a maximum.
  func bytesUpTo(_ maximumByteCount: Int) -> LoadedImage {
    guard bytes.count > maximumByteCount else { return self }
    return LoadedImage(
      bytes: [], thumbnail, of: source, storedAt: storedAt, expiresAt: expiresAt,
      isExpirySliding: isExpirySliding, origin: origin)
  }
}

extension LoadedImage {
  /// The average colour of the picture, as its ``thumbHash`` tells; `nil` without one.
  public var averageColour: RGBColour? {
    source.thumbHash.map { ThumbHashDrawing($0).averageColour }
  }
}

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
