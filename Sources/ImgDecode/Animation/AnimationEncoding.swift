import ImgFacts
import ImgModel

/// How animations are written. Metadata is left out, as in stills.
enum AnimationEncoding {
  case webp, gif

  /// - Parameter format: one that holds animations.
  init(_ format: Variant.Format) {
    self = format == .gif || format == .compatible ? .gif : .webp
  }

  var format: ImageFormat {
    switch self {
    case .webp: .webp
    case .gif: .gif
    }
  }

  /// What a delay is a multiple of, in milliseconds: GIF counts hundredths of a second (GIF89a section
  /// 23).
  private var delayUnit: Int {
    switch self {
    case .webp: 1
    case .gif: 10
    }
  }

  /// In milliseconds: WebP has 24 bits for a delay, GIF has 16.
  private var longestDelay: Int {
    switch self {
    case .webp: 0xFF_FFFF
    case .gif: 0xFFFF * delayUnit
    }
  }

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
    switch self {
    case .webp:
      return WebPContainer.strippingMetadata(
        try animation.encoded(suffix: ".webp[Q=\(quality),effort=2,strip]"))
    case .gif:
      return try animation.encoded(suffix: ".gif[effort=3,strip]")
    }
  }
}
