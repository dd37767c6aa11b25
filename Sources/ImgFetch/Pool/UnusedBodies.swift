/// The bodies that come in and are not used, by the time at which they are cut off. A short one is
/// read to its end, because its connection can then be used again. A slow one is not worth the slot
/// that its transfer holds.
final class UnusedBodies {
  /// The most that is read of one body.
  static let maximumByteCount = 64 << 10
  /// Enough for a page that follows its head at once.
  private static let patience = Duration.milliseconds(500)

  /// The oldest first, as all have the same time.
  private var entries: [(id: UInt64, deadline: ContinuousClock.Instant)] = []

  /// The head of a response is in, and a body follows.
  ///
  /// - Returns: when it is cut off.
  func note(_ id: UInt64, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let deadline = now + Self.patience
    entries.append((id, deadline))
    return deadline
  }

  /// When the next body is cut off.
  var nextDeadline: ContinuousClock.Instant? { entries.first?.deadline }

  /// The transfers whose bodies are due, with their deadlines: a transfer may have ended since, and
  /// another may have its number.
  func takeDue(
    at now: ContinuousClock.Instant
  ) -> [(id: UInt64, deadline: ContinuousClock.Instant)] {
    let due = entries.prefix { $0.deadline <= now }
    entries.removeFirst(due.count)
    return Array(due)
  }
}
