import ImgScheduler

/// How many lines of its own a worker may have in the log: some dozens at once, and one in two seconds
/// after them. A worker that a response has taken over could fill the disk with them.
struct LineAllowance: Sendable {
  private static let rate = TransferRate(perMinute: 30, burst: 60)
  /// How long lines are left out before the log says how many.
  static let reportInterval = Duration.seconds(10)

  private var bucket = TokenBucket()
  private var omittedCount = 0
  /// When the log is due to say how many lines were left out; `nil` if none were.
  private(set) var reportDeadline: ContinuousClock.Instant?

  /// - Returns: those of the lines that may be logged. The others are counted.
  mutating func admit(_ lines: [String], at now: ContinuousClock.Instant) -> [String] {
    lines.filter { _ in take(at: now) }
  }

  private mutating func take(at now: ContinuousClock.Instant) -> Bool {
    if let next = bucket.nextToken(at: Self.rate), next > now {
      omittedCount += 1
      if reportDeadline == nil { reportDeadline = now + Self.reportInterval }
      return false
    }
    bucket.take(at: now, rate: Self.rate)
    return true
  }

  /// A predicate that says how many lines were left out since the last one; `nil` if none were.
  mutating func takeReport() -> String? {
    guard omittedCount > 0 else { return nil }
    defer { (omittedCount, reportDeadline) = (0, nil) }
    return "wrote \(omittedCount) more \(omittedCount == 1 ? "line" : "lines"), not shown"
  }
}
