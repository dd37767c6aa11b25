/// When a lost connection is made again: at once, then after pauses that double, until
/// ``patience`` is over.
struct ReconnectionPlan: Sendable {
  static let patience = Duration.seconds(10)
  private static let firstPause = Duration.milliseconds(50)
  private static let longestPause = Duration.seconds(1)

  private let end: ContinuousClock.Instant
  private var pause = firstPause
  private(set) var nextAttempt: ContinuousClock.Instant

  /// The connection was lost.
  init(at now: ContinuousClock.Instant) {
    end = now + Self.patience
    nextAttempt = now
  }

  /// An attempt has failed.
  ///
  /// - Returns: whether there is another one.
  mutating func attemptFailed(at now: ContinuousClock.Instant) -> Bool {
    guard now < end else { return false }
    nextAttempt = now + pause
    pause = min(pause * 2, Self.longestPause)
    return true
  }
}
