import ImgWire

/// Whether a host is asked at all: a circuit breaker. A host that fails again and again is left
/// alone for a while, then asked once; every answer that shows it alive makes it as good as new.
///
///     well ── failures in a row ──► resting ── time ──► on probation ── an answer ──► well
///                                      ▲                     │
///                                      └────── a failure ────┘
///
/// A host that fails its probation again and again is *down*: who waits for it need not, and hears
/// of the last failure instead.
struct HostHealth: Equatable {
  /// So many transfers in a row have failed for the host's sake.
  private(set) var failureCount = 0
  /// How many rests in a row were of no use.
  private(set) var restCount = 0
  /// Until when it is not asked, because it failed.
  private var brokenUntil: ContinuousClock.Instant?
  /// Until when it is not asked, because it said so.
  private var wishedUntil: ContinuousClock.Instant?
  private(set) var lastFailure: Failure?

  /// More than run at one host at once by default, so that one hiccup is not a row.
  static let failureMaximum = 10
  /// Rests of no use after which a host is down: by then it has failed for more than a minute, longer
  /// than a server takes to start again.
  static let restMaximum = 5
  private static let shortestRest = Duration.seconds(5)
  private static let longestRest = Duration.seconds(300)

  /// Whether it may be asked only once at a time.
  var isOnProbation: Bool { restCount > 0 }

  /// Why it is not worth waiting for; `nil` when it is.
  var downBecause: Failure? { restCount >= Self.restMaximum ? lastFailure : nil }

  /// It has answered, whatever it had to say.
  mutating func answered() {
    failureCount = 0
    restCount = 0
    lastFailure = nil
    brokenUntil = nil
  }

  /// A transfer has failed for its sake.
  mutating func failed(
    _ failure: Failure, begunAt: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    lastFailure = failure
    failureCount += 1
    guard isOnProbation || failureCount >= Self.failureMaximum else { return }
    // What began before the rest was over says nothing new.
    if let brokenUntil, begunAt < brokenUntil { return }
    brokenUntil = now + min(Self.shortestRest * (1 << min(restCount, 6)), Self.longestRest)
    restCount += 1
  }

  /// It does not want to be asked before then (Retry-After, RFC 9110 section 10.2.3).
  mutating func rest(until moment: ContinuousClock.Instant) {
    wishedUntil = max(wishedUntil ?? moment, moment)
  }

  /// Until when it is not asked; `nil` or past when it may be.
  var restsUntil: ContinuousClock.Instant? {
    [brokenUntil, wishedUntil].compactMap(\.self).max()
  }

  /// When nothing of it needs to be remembered any more; `nil` when nothing is now.
  var forgettableAt: ContinuousClock.Instant? {
    restsUntil.map { isOnProbation ? $0 + Self.longestRest : $0 }
  }
}

extension Failure {
  /// Whether it is for the host's sake that it failed, and not for the URL's or ours.
  var isOfHost: Bool {
    switch code {
    case .dnsFailure, .connectFailure, .tlsFailure, .timeout, .truncatedBody: true
    case .httpStatus: isRetryable
    default: false
    }
  }
}
