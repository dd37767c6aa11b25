internal import ImgModel

/// The hosts that sent Retry-After (RFC 9110 section 10.2.3) to the transfers of one pool, and
/// until when they get no requests. The coordinator, which assigns the transfers, hears of it a
/// moment later; until then the pool itself sends them nothing.
final class HostCooldowns {
  private var ends: [String: ContinuousClock.Instant] = [:]
  /// With so many hosts those whose cooldown is over are removed: twice as many as were left the
  /// last time, so that each costs little however many there are.
  private var pruningCount = minimumPruningCount
  private var unreported: [HostCooldown] = []

  private static let minimumPruningCount = 1_024

  /// A shorter cooldown does not replace a longer one.
  func record(_ cooldown: HostCooldown, at now: ContinuousClock.Instant) {
    if ends.count >= pruningCount {
      ends = ends.filter { $0.value > now }
      pruningCount = max(2 * ends.count, Self.minimumPruningCount)
    }
    let end = now + cooldown.duration
    ends[cooldown.host] = max(ends[cooldown.host] ?? end, end)
    unreported.append(cooldown)
  }

  func isCoolingDown(_ host: String, at now: ContinuousClock.Instant) -> Bool {
    ends[host].map { now < $0 } ?? false
  }

  /// Those that were recorded since the last call.
  func takeUnreported() -> [HostCooldown] {
    defer { unreported = [] }
    return unreported
  }
}
