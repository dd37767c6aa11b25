import ImgModel

/// How animations are written. Metadata is left out, as in stills.
enum AnimationEncoding {
  case webp, gif

  /// - Parameter format: one that holds animations.
  init(_ format: Variant.Format) {
    self = format == .gif ? .gif : .webp
  }

  var format: ImageFormat {
    switch self {
    case .webp: .webp
    case .gif: .gif
    }
  }

  /// Encodes frames.
  ///
  /// WebP: effort 2, as for stills.
  func encode(
    _ frames: consuming FrameStrip, _ timeline: Timeline, quality: Int
  ) throws(VipsError) -> [UInt8] {
    switch self {
    case .webp:
      let animation = try frames.animation(
        delays: timeline.delays, loopCount: timeline.loopCount)
      return WebPContainer.strippingMetadata(
        try animation.encoded(suffix: ".webp[Q=\(quality),effort=2,strip]"))
    case .gif:
      let animation = try frames.animation(
        delays: Self.wholeHundredths(timeline.delays), loopCount: timeline.loopCount)
      return try animation.encoded(suffix: ".gif[effort=3,strip]")
    }
  }

  /// The delays of a GIF count hundredths of a second (GIF89a section 23). What one frame loses by
  /// that, the next one gains. None becomes so short that it is played slowly, see ``FrameDelay``.
  ///
  /// - Parameter delays: in milliseconds; the result, too.
  static func wholeHundredths(_ delays: [Int]) -> [Int] {
    var (end, roundedEnd) = (0, 0)
    return delays.map { delay in
      end += delay
      let rounded = max(20, (end + 5) / 10 * 10 - roundedEnd)
      roundedEnd += rounded
      return rounded
    }
  }
}
