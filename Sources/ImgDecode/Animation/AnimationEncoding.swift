import ImgFacts
import ImgModel

/// How animations are written. Metadata is left out, as in stills.
enum AnimationEncoding {
  /// Delays are whole hundredths of a second (GIF89a section 23).
  private static let gifDelayUnit = 10

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
  /// WebP: effort 2, as for stills. libwebp makes one frame of neighbours that look alike, and adds
  /// their delays; no option prevents that.
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
        delays: FrameDelay.rounded(
          timeline.delays.map { Double($0) }, toMultiplesOf: Self.gifDelayUnit),
        loopCount: timeline.loopCount)
      return try animation.encoded(suffix: ".gif[effort=3,strip]")
    }
  }
}
