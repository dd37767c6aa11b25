import ImgModel

/// Whether a host is asked at all: a circuit breaker. A host that fails again and again gets a
/// cooldown and is then asked once; every answer that shows it alive closes the breaker.
///
///     closed ── failures in a row ──► open ── cooldown ──► half-open ── an answer ──► closed
///                                      ▲                       │
///                                      └────── a failure ──────┘
///
/// A host that fails again and again while the breaker is half-open is *down*: requests for it do not
/// wait, and fail with its last failure instead.
///
/// An explicit command of a person (`get`, `retry`) overrides the breaker once: one transfer, the
/// probe, starts at once. It does not override Retry-After (see ``OriginQueue``): the origin has named the
/// time, a request before it is known to be in vain, and may make the origin wait longer (RFC 9110 section
/// 10.2.3, RFC 6585 section 4). The probe starts when that time has come.
///
/// The failures of all ports and schemes of the host count, because what does not answer is mostly the
/// machine.
package struct HostHealth: Equatable {
  /// So many transfers in a row have failed because of the host.
  private(set) var failureCount = 0
  /// How often in a row the breaker has opened.
  private(set) var tripCount = 0
  /// Until when it is not asked, because it failed.
  private var openUntil: ContinuousClock.Instant?
  private(set) var lastFailure: Failure?
  private var failedAt: ContinuousClock.Instant?
  /// The newest command that has come, see ``wantProbe(for:isProbing:at:)``.
  private var lastCommand: CommandID?
  /// Whether the next transfer starts in spite of the breaker.
  package private(set) var isProbeWanted = false
  /// The first cooldown; each further one is twice as long, up to ``longestCooldown``.
  private let shortestCooldown: Duration

  /// More than run at one host at once by default, so that one hiccup is not a row.
  static let failureMaximum = 10
  /// Cooldowns after which a host is down: by then it has failed for more than a minute with the
  /// default backoff, longer than a server takes to start again.
  static let tripMaximum = 5
  private static let longestCooldown = Duration.seconds(300)
  /// The first cooldown, as a multiple of the longest wait before the first retry of a URL.
  private static let cooldownPerBackoff = 5

  /// - Parameter backoff: the longest wait before the first retry of a URL.
  init(backoff: Duration) {
    shortestCooldown = min(backoff * Self.cooldownPerBackoff, Self.longestCooldown)
  }

  /// Whether the breaker is open or half-open: the host is asked only once at a time.
  package var isTripped: Bool { tripCount > 0 }

  /// Why requests need not wait for the host; `nil` when they should.
  var downBecause: Failure? { tripCount >= Self.tripMaximum ? lastFailure : nil }

  /// Why it is not asked now, because it failed; `nil` if it may be.
  func outage(at now: ContinuousClock.Instant) -> Outage? {
    guard let openUntil, openUntil > now, let lastFailure else { return nil }
    return Outage(until: openUntil, failure: lastFailure)
  }

  /// It has answered, with any status that is not a failure of the host.
  mutating func answered() {
    failureCount = 0
    tripCount = 0
    lastFailure = nil
    failedAt = nil
    openUntil = nil
    isProbeWanted = false
  }

  /// A transfer has failed because of the host.
  mutating func failed(
    _ failure: Failure, begunAt: ContinuousClock.Instant, at now: ContinuousClock.Instant
  ) {
    lastFailure = failure
    failedAt = now
    failureCount += 1
    guard isTripped || failureCount >= Self.failureMaximum else { return }
    // What began before the cooldown was over says nothing new.
    if let openUntil, begunAt < openUntil { return }
    openUntil = now + min(shortestCooldown * (1 << min(tripCount, 6)), Self.longestCooldown)
    tripCount += 1
  }

  // MARK: - Probes

  /// An explicit command needs the host. If the host has a cooldown when the command comes, one
  /// transfer starts nevertheless: one for the command, however many URLs it has.
  ///
  /// - Parameter isProbing: whether a probe is under way, whose result serves this command, too.
  mutating func wantProbe(
    for command: CommandID, isProbing: Bool, at now: ContinuousClock.Instant
  ) {
    guard lastCommand.map({ $0 < command }) ?? true else { return }
    lastCommand = command
    if !isProbing, let until = coolingDownUntil, until > now { isProbeWanted = true }
  }

  /// The probe starts, or nothing waits for it any more.
  mutating func cancelProbe() { isProbeWanted = false }

  /// The probe has ended and told nothing about the host: the next transfer is the probe.
  mutating func repeatProbe() { isProbeWanted = true }

  /// When the next transfer may start; `nil` or past when it may now.
  package var nextAttempt: ContinuousClock.Instant? { isProbeWanted ? nil : openUntil }

  // MARK: - Memory

  /// For how long failures in a row are remembered while nothing waits for the host. Redirects lead
  /// to a host one after the other, with pauses between them.
  static let failureMemory = Duration.seconds(60)

  /// Until when its failures in a row are remembered; `nil` when there are none.
  var failuresForgottenAt: ContinuousClock.Instant? { failedAt.map { $0 + Self.failureMemory } }

  /// Until when it is not asked; `nil` or past when it may be.
  var coolingDownUntil: ContinuousClock.Instant? { openUntil }

  /// When nothing of it needs to be remembered any more; `nil` when nothing is now.
  var forgettableAt: ContinuousClock.Instant? {
    coolingDownUntil.map { isTripped ? $0 + Self.longestCooldown : $0 }
  }
}

extension Failure {
  /// Whether the host is the reason, and neither the URL nor this program.
  var isOfHost: Bool {
    switch code {
    case .dnsFailure, .connectFailure, .tlsFailure, .timeout, .truncatedBody: true
    case .httpStatus: isRetryable
    default: false
    }
  }
}
