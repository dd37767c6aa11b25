/// The bodies that come in and that nobody wants, by the time at which they are cut off. The rest of a
/// short one is read because its connection can then be used again; a slow one is not worth the slot
/// that its transfer holds.
final class UnusedBodies {
  /// As long as a page takes that follows its head at once.
  private static let patience = Duration.milliseconds(500)

  /// The oldest first, as all have the same time.
  private var entries: [(id: UInt64, deadline: ContinuousClock.Instant)] = []

  /// The head of an answer is in, and a body follows.
  ///
  /// - Returns: when it is cut off.
  func note(_ id: UInt64, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let deadline = now + Self.patience
    entries.append((id, deadline))
    return deadline
  }

  /// When ``takeDue(at:)`` has something to say next.
  var nextDeadline: ContinuousClock.Instant? { entries.first?.deadline }

  /// The transfers whose bodies are due, with their deadlines: a transfer may have ended since, and
  /// another have its number.
  func takeDue(
    at now: ContinuousClock.Instant
  ) -> [(id: UInt64, deadline: ContinuousClock.Instant)] {
    let due = entries.prefix { $0.deadline <= now }
    entries.removeFirst(due.count)
    return Array(due)
  }
}
