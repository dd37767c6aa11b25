/// How often transfers from one host may begin.
package struct TransferRate: Equatable {
  /// The time in which one token comes.
  package let interval: Duration
  /// Tokens that gather when nothing begins.
  package let burst: Int

  /// - Parameter perMinute: at least 1; what comes in a second may come at once.
  package init(perMinute: Int) {
    self.init(perMinute: perMinute, burst: max(1, perMinute / 60))
  }

  /// - Parameters:
  ///   - perMinute: at least 1.
  ///   - burst: how many may come at once, at least 1.
  package init(perMinute: Int, burst: Int) {
    interval = .seconds(60) / perMinute
    self.burst = burst
  }
}

/// Tokens of one host, of which each transfer takes one: the generic cell rate algorithm, which
/// holds a bucket's whole state in one moment (ITU-T Recommendation I.371, annex A).
package struct TokenBucket {
  /// When all tokens will have come again.
  private(set) var fullAt: ContinuousClock.Instant?

  package init() {}

  /// When there is a token.
  package func nextToken(at rate: TransferRate) -> ContinuousClock.Instant? {
    fullAt.map { $0 - rate.interval * (rate.burst - 1) }
  }

  /// From now on tokens come at another rate. Those that are there stay, and no others appear.
  mutating func change(
    from old: TransferRate, to new: TransferRate, at now: ContinuousClock.Instant
  ) {
    guard let full = fullAt, full > now else { return }
    let available = Double(old.burst) - (full - now) / old.interval
    fullAt = now + new.interval * max(0, Double(new.burst) - available)
  }

  package mutating func take(at now: ContinuousClock.Instant, rate: TransferRate) {
    fullAt = max(fullAt ?? now, now) + rate.interval
  }

  /// Takes a token without having asked whether there is one. Where there is none, those that come
  /// are owed, as many as may come at once and no more, so that the debt of a host is bounded.
  mutating func takeUnasked(at now: ContinuousClock.Instant, rate: TransferRate) {
    take(at: now, rate: rate)
    fullAt = fullAt.map { min($0, now + rate.interval * (2 * rate.burst)) }
  }
}
