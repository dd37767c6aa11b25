/// Durations as whole numbers, for JSON, for the store, and for what people and C read.
extension Duration {
  /// The duration in milliseconds, rounded to the nearest and clamped to the range.
  package var milliseconds: Int64 {
    let attosecondsPerMillisecond: Int128 = 1_000_000_000_000_000
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: attosecondsPerMillisecond)
    guard rest.magnitude * 2 >= attosecondsPerMillisecond.magnitude else {
      return Int64(clamping: whole)
    }
    return Int64(clamping: whole + rest.signum())
  }

  /// The duration in seconds, rounded up and clamped to the range.
  package var secondsRoundedUp: Int64 {
    let attosecondsPerSecond: Int128 = 1_000_000_000_000_000_000
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: attosecondsPerSecond)
    return Int64(clamping: rest > 0 ? whole + 1 : whole)
  }
}

extension ClosedRange<Duration> {
  /// The range in milliseconds.
  package var milliseconds: ClosedRange<Int64> {
    lowerBound.milliseconds...upperBound.milliseconds
  }
}
