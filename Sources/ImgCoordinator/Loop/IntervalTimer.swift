/// A step of the loop that repeats.
struct IntervalTimer {
  let interval: Duration
  /// When the step is due.
  private(set) var deadline: ContinuousClock.Instant

  /// - Parameter now: when the step is due for the first time.
  init(every interval: Duration, from now: ContinuousClock.Instant) {
    self.interval = interval
    deadline = now
  }

  /// Whether the step is due; then it is due again after the interval.
  mutating func fires(at now: ContinuousClock.Instant) -> Bool {
    guard deadline <= now else { return false }
    deadline = now + interval
    return true
  }
}
