import ImgModel

/// Says when a measured moment is by the clock on the wall. It stays the same text for the same
/// moment, until that clock is set.
struct Timeline {
  private var anchor: Moment

  /// The clocks are read one after the other, and slewed.
  private static let tolerance = Duration.seconds(1)

  init(at now: Moment) {
    anchor = now
  }

  mutating func update(_ now: Moment) {
    let drift = wall(now.instant).duration(to: now.wall)
    if max(drift, .zero - drift) > Self.tolerance { anchor = now }
  }

  func wall(_ instant: ContinuousClock.Instant) -> WallTime {
    anchor.wall.advanced(by: instant - anchor.instant)
  }
}
