package import ImgModel

/// The notes of a command that waits for one URL: one for each reason.
///
/// The coordinator also reports when only the time of the next attempt changes. For a host at its
/// rate limit that is up to once a second, so such a change prints nothing.
package struct WaitNotes: Sendable {
  private var last: Wait?

  package init() {}

  /// The line to print, with a line feed; `nil` if the last note already gave this reason.
  package mutating func note(on wait: Wait, at now: WallTime) -> String? {
    defer { last = wait }
    if wait.kind == .hostRate, last?.kind == .hostRate, last?.host == wait.host { return nil }
    return "waiting: \(WaitText(wait, at: now).text)\n"
  }
}
