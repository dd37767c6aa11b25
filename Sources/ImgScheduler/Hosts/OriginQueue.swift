import ImgModel

/// What waits for one origin of a host, and the pause that the origin has asked for. Another port or scheme
/// is another service, which has asked for nothing.
struct OriginQueue {
  /// The sources that wait for a transfer of their own.
  var waiting = PriorityQueue<SourceID, Urgency>()
  /// Transfers that redirects lead here. They have begun, so they go before those that have not.
  var redirected = PriorityQueue<TransferID, Urgency>()
  private(set) var pause: RetryAfter?

  var isEmpty: Bool { waiting.isEmpty && redirected.isEmpty }

  /// A shorter pause does not replace a longer one.
  mutating func coolDown(_ newPause: RetryAfter) {
    if pause.map({ $0.until < newPause.until }) ?? true { pause = newPause }
  }

  /// The pause; `nil` if there is none, or it is over.
  func pause(at now: ContinuousClock.Instant) -> RetryAfter? {
    pause.flatMap { $0.until > now ? $0 : nil }
  }

  /// The most urgent source that may start, as far as the pause is concerned; `nil` when none may.
  func mostUrgentSource(at now: ContinuousClock.Instant) -> Urgency? {
    waiting.first.map(\.priority).flatMap { attempt(of: $0, at: now) == now ? $0 : nil }
  }

  /// The same of the transfers that were redirected here.
  func mostUrgentRedirected(at now: ContinuousClock.Instant) -> Urgency? {
    redirected.first.map(\.priority).flatMap { attempt(of: $0, at: now) == now ? $0 : nil }
  }

  /// When the pause is over for the most urgent that waits because of it; `nil` where nothing does.
  func pauseEnd(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    [waiting.first?.priority, redirected.first?.priority].compactMap(\.self)
      .map { attempt(of: $0, at: now) }.filter { $0 > now }.min()
  }

  private func attempt(
    of urgency: Urgency, at now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant {
    max(now, pause?.until(for: urgency) ?? now)
  }
}
