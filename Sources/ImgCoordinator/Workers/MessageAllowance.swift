import ImgScheduler

/// How often the libraries of all workers together may say something in the log, apart from deaths.
struct MessageAllowance: Sendable {
  private static let rate = TransferRate(perMinute: 10)

  private var bucket = TokenBucket()
  private var droppedCount = 0

  /// A message asks to be logged.
  ///
  /// - Returns: how many before it were not; `nil` when this one is not either.
  mutating func take(at now: ContinuousClock.Instant) -> Int? {
    if let next = bucket.nextToken(at: Self.rate), next > now {
      droppedCount += 1
      return nil
    }
    bucket.take(at: now, rate: Self.rate)
    defer { droppedCount = 0 }
    return droppedCount
  }
}
