internal import ImgModel

/// The origins that sent Retry-After (RFC 9110 section 10.2.3) to the transfers of one pool, and
/// until when they get no requests. The coordinator, which assigns the transfers, hears of it a
/// moment later; until then the pool itself sends them nothing, and never for longer than the coordinator
/// keeps any request back.
final class HostCooldowns {
  private var ends: [String: ContinuousClock.Instant] = [:]
  /// With so many origins those whose cooldown is over are removed: twice as many as were left the
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
    let end = now + min(cooldown.duration, HostCooldown.maximumForViewers)
    ends[cooldown.origin] = max(ends[cooldown.origin] ?? end, end)
    unreported.append(cooldown)
  }

  func isCoolingDown(_ origin: String, at now: ContinuousClock.Instant) -> Bool {
    ends[origin].map { now < $0 } ?? false
  }

  /// Those that were recorded since the last call.
  func takeUnreported() -> [HostCooldown] {
    defer { unreported = [] }
    return unreported
  }
}
