import ImgModel

/// Whether a host is asked at all: a circuit breaker. A host that fails again and again is left
/// alone for a while, then asked once; every answer that shows it alive makes it as good as new.
///
///     well ── failures in a row ──► resting ── time ──► on probation ── an answer ──► well
///                                      ▲                     │
///                                      └────── a failure ────┘
///
/// A host that fails its probation again and again is *down*: who waits for it need not, and hears
/// of the last failure instead.
///
/// An explicit command of a person (`get`, `retry`) overrides the breaker once: one transfer, the
/// probe, starts at once. It does not override Retry-After: the origin has named the time, a request
/// before it is known to be in vain, and may make the origin wait longer (RFC 9110 section 10.2.3,
/// RFC 6585 section 4). The probe starts when that time has come.
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
  private var failedAt: ContinuousClock.Instant?
  /// The newest command that has come, see ``wantProbe(for:isProbing:at:)``.
  private var lastCommand: CommandID?
  /// Whether the next transfer starts although the host is left alone.
  private(set) var isProbeWanted = false
  /// How long the host is left alone first; each further time is twice as long, up to
  /// ``longestRest``.
  private let shortestRest: Duration

  /// More than run at one host at once by default, so that one hiccup is not a row.
  static let failureMaximum = 10
  /// Rests of no use after which a host is down: by then it has failed for more than a minute with
  /// the default backoff, longer than a server takes to start again.
  static let restMaximum = 5
  private static let longestRest = Duration.seconds(300)
  /// The first rest, as a multiple of the longest wait before the first retry of a URL.
  private static let restPerBackoff = 5

  /// - Parameter backoff: the longest wait before the first retry of a URL.
  init(backoff: Duration) {
    shortestRest = min(backoff * Self.restPerBackoff, Self.longestRest)
  }

  /// Whether it may be asked only once at a time.
  var isOnProbation: Bool { restCount > 0 }

  /// Why it is not worth waiting for; `nil` when it is.
  var downBecause: Failure? { restCount >= Self.restMaximum ? lastFailure : nil }

  /// It has answered, whatever it had to say.
  mutating func answered() {
    failureCount = 0
    restCount = 0
    lastFailure = nil
    failedAt = nil
    brokenUntil = nil
    isProbeWanted = false
  }

  /// A transfer has failed for its sake.
  mutating func failed(
    _ failure: Failure, begunAt: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    lastFailure = failure
    failedAt = now
    failureCount += 1
    guard isOnProbation || failureCount >= Self.failureMaximum else { return }
    // What began before the rest was over says nothing new.
    if let brokenUntil, begunAt < brokenUntil { return }
    brokenUntil = now + min(shortestRest * (1 << min(restCount, 6)), Self.longestRest)
    restCount += 1
  }

  /// It does not want to be asked before then (Retry-After, RFC 9110 section 10.2.3).
  mutating func rest(until moment: ContinuousClock.Instant) {
    wishedUntil = max(wishedUntil ?? moment, moment)
  }

  // MARK: - Probes

  /// An explicit command needs the host. If the host is left alone when the command comes, one
  /// transfer starts nevertheless: one for the command, however many URLs it has.
  ///
  /// - Parameter isProbing: whether a probe is under way, whose result serves this command, too.
  mutating func wantProbe(
    for command: CommandID, isProbing: Bool, at now: ContinuousClock.Instant
  ) {
    guard lastCommand.map({ $0 < command }) ?? true else { return }
    lastCommand = command
    if !isProbing, let until = restsUntil, until > now { isProbeWanted = true }
  }

  /// The probe starts, or nothing waits for it any more.
  mutating func endProbeWish() { isProbeWanted = false }

  /// The probe has ended and told nothing about the host: the next transfer is the probe.
  mutating func repeatProbe() { isProbeWanted = true }

  /// When the next transfer may start; `nil` or past when it may now.
  var nextAttempt: ContinuousClock.Instant? { isProbeWanted ? wishedUntil : restsUntil }

  /// Whether the next transfer waits for the time that the host has named.
  func isWished(at now: ContinuousClock.Instant) -> Bool {
    guard let wishedUntil, wishedUntil > now else { return false }
    return nextAttempt == wishedUntil
  }

  // MARK: - Memory

  /// For how long failures in a row are remembered while nothing waits for the host. Redirects lead
  /// to a host one after the other, with pauses between them.
  static let failureMemory = Duration.seconds(60)

  /// Until when its failures in a row are remembered; `nil` when there are none.
  var failuresForgottenAt: ContinuousClock.Instant? { failedAt.map { $0 + Self.failureMemory } }

  /// Until when it is not asked; `nil` or past when it may be.
  var restsUntil: ContinuousClock.Instant? {
    [brokenUntil, wishedUntil].compactMap(\.self).max()
  }

  /// When nothing of it needs to be remembered any more; `nil` when nothing is now.
  var forgettableAt: ContinuousClock.Instant? {
    restsUntil.map { isOnProbation ? $0 + Self.longestRest : $0 }
  }
}

/// Names an explicit command of a person that may override a circuit breaker; a later one has a
/// higher number.
struct CommandID: Hashable, Comparable {
  let rawValue: UInt64

  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
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
