internal import ImgModel

/// The hosts that want to be left alone for a while (Retry-After, RFC 9110 section 10.2.3), as the
/// transfers of one pool have heard. Who gives out the transfers hears of it a moment later; until
/// then the pool itself sends nothing more there.
final class HostCooldowns {
  private var cooldownEnd: [String: ContinuousClock.Instant] = [:]
  /// With so many it is time to forget those that are over: twice as many as were left the last time,
  /// so that each costs little however many there are.
  private var pruningCount = leastPruningCount
  /// What was heard and not told yet.
  private var untold: [HostCooldown] = []

  private static let leastPruningCount = 1_024

  func note(_ rest: HostCooldown, at now: ContinuousClock.Instant) {
    if cooldownEnd.count >= pruningCount {
      cooldownEnd = cooldownEnd.filter { $0.value > now }
      pruningCount = max(2 * cooldownEnd.count, Self.leastPruningCount)
    }
    let until = now + .milliseconds(rest.milliseconds)
    cooldownEnd[rest.host] = max(cooldownEnd[rest.host] ?? until, until)
    untold.append(rest)
  }

  func isCoolingDown(_ host: String, at now: ContinuousClock.Instant) -> Bool {
    cooldownEnd[host].map { now < $0 } ?? false
  }

  /// What was heard since the last call.
  func takeUntold() -> [HostCooldown] {
    defer { untold = [] }
    return untold
  }
}
