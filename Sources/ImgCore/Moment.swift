package import ImgModel

/// When an event is handled: passed in, because the core has no clock.
package struct Moment: Hashable, Sendable {
  /// For what is measured: timeouts, backoff.
  package let instant: ContinuousClock.Instant
  /// For what is written down: when a job started and ended.
  package let wall: WallTime

  package init(instant: ContinuousClock.Instant, wall: WallTime) {
    self.instant = instant
    self.wall = wall
  }
}

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
