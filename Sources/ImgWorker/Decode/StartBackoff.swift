/// Starts of decoders that failed in a row: when to try again, and when to give up.
struct StartBackoff {
  /// Failures by themselves, and by SIGKILL, which says nothing of the next start.
  private static let failureMaximum = 5
  private static let killMaximum = 100
  private static let firstDelay = Duration.milliseconds(250)

  private var failureCount = 0
  private var killCount = 0

  /// Whether another start would be in vain.
  var isExhausted: Bool {
    failureCount >= Self.failureMaximum || killCount >= Self.killMaximum
  }

  mutating func succeeded() {
    self = StartBackoff()
  }

  /// - Returns: how long to wait before the next start.
  mutating func failed(wasKilled: Bool) -> Duration {
    guard !wasKilled else {
      killCount += 1
      return .zero
    }
    failureCount += 1
    return Self.firstDelay * (1 << (failureCount - 1))
  }
}
