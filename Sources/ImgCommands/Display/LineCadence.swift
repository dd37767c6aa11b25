package import ImgModel

/// Which states of a job become lines of a log: each change, but one a second at most; the end; and
/// while nothing changes, one line a minute that shows that the command still waits.
package struct LineCadence: Sendable {
  private static let interval = Duration.seconds(1)
  private static let unchangedInterval = Duration.seconds(60)

  private var last: (status: JobStatus, at: Duration)?

  package init() {}

  /// - Parameter elapsed: since any fixed moment; never less than in the call before.
  /// - Returns: whether the state is the next line.
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
