package import ImgModel

/// Selects the states of a job that become lines of a log: each change, at most one a second; the
/// end; and one line a minute without changes, to show that the command still waits.
package struct LineCadence: Sendable {
  private static let interval = Duration.seconds(1)
  private static let unchangedInterval = Duration.seconds(60)

  private var last: (status: ImageJob, line: String, at: Duration)?
  /// See ``Wait/reason``, of the last line.
  private var toldWait: [String]?

  package init() {}

  /// The line of a state, with what can be done about a wait if the line before did not tell it.
  ///
  /// - Parameter bar: of the state.
  /// - Returns: `nil` if the state becomes no line.
  package mutating func line(
    of status: ImageJob, _ bar: ProgressBar, at elapsed: Duration
  ) -> String? {
    let repeated = bar.plainLine(tellsRemedy: false)
    guard takes(status, as: repeated, at: elapsed) else { return nil }
    defer { toldWait = bar.waitReason }
    return bar.waitReason == toldWait ? repeated : bar.plainLine
  }

  /// - Parameters:
  ///   - line: its text, which does not tell all of the state.
  ///   - elapsed: the time since a fixed moment. It never decreases.
  /// - Returns: whether the state becomes the next line.
  package mutating func takes(
    _ status: ImageJob, as line: String, at elapsed: Duration
  ) -> Bool {
    if let last {
      let isChanged = status != last.status && line != last.line
      let interval = isChanged ? Self.interval : Self.unchangedInterval
      guard isChanged && status.hasEnded || elapsed - last.at >= interval else { return false }
    }
    last = (status, line, elapsed)
    return true
  }
}
