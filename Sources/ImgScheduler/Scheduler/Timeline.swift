import ImgModel

/// Says when a measured moment is by the clock on the wall. It stays the same text for the same
/// moment, until that clock is set.
struct Timeline {
  private var anchor: Moment

  /// The clocks are read one after the other, and slewed.
  private static let toleranceMilliseconds: Int64 = 1_000

  init(at now: Moment) {
    anchor = now
  }

  mutating func update(_ now: Moment) {
    let drift = wall(now.instant).milliseconds(to: now.wall)
    if drift.magnitude > Self.toleranceMilliseconds.magnitude { anchor = now }
  }

  func wall(_ instant: ContinuousClock.Instant) -> WallTime {
    let milliseconds = (instant - anchor.instant) / .milliseconds(1)
    return anchor.wall.advanced(byMilliseconds: Int64(milliseconds.rounded()))
  }
}
