/// When an event is handled: passed in, because the machines that handle it have no clock.
package struct Moment: Hashable, Sendable {
  /// For what is measured: timeouts, backoff.
  package let instant: ContinuousClock.Instant
  /// For what is written down: when a job started and ended.
  package let wall: WallTime

  package init(instant: ContinuousClock.Instant, wall: WallTime) {
    self.instant = instant
    self.wall = wall
  }

  /// Now, for the drivers of the machines.
  package static var now: Moment { Moment(instant: .now, wall: .now) }
}
