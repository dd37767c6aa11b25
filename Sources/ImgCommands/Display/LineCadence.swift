package import ImgModel

/// Selects the states of a job that become lines of a log: each change, at most one a second; the
/// end; and one line a minute without changes, to show that the command still waits.
package struct LineCadence: Sendable {
  private static let interval = Duration.seconds(1)
  private static let unchangedInterval = Duration.seconds(60)

  private var last: (status: JobStatus, at: Duration)?

  package init() {}

  /// - Parameter elapsed: the time since a fixed moment. It never decreases.
  /// - Returns: whether the state becomes the next line.
  package mutating func takes(_ status: JobStatus, at elapsed: Duration) -> Bool {
    if let last {
      let isChanged = status != last.status
      let interval = isChanged ? Self.interval : Self.unchangedInterval
      guard isChanged && status.hasEnded || elapsed - last.at >= interval else { return false }
    }
    last = (status, elapsed)
    return true
  }
}
