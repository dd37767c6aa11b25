import ImgModel

/// How many pictures of a group of hosts (see `HostGroup`) may end decoders for viewers. Each costs two decoders,
/// whose replacements are slow to start, so that a client who names one such picture after the other would have all
/// others wait.
///
/// Lines of jobs neither spend it nor need it: a decoder takes the pictures of viewers first, and a line that is
/// refused would be missing from its job.
package struct CrashBudget {
  static let period = Duration.seconds(60)
  /// Pictures of a group within the period.
  package static let maximumCount = 8
  /// Groups that are remembered; beyond it the one that was spent first goes.
  package static let maximumGroupCount = 1_024

  /// Of each group, the latest of its crashes; the oldest first.
  private var crashes: [String: [ContinuousClock.Instant]] = [:]
  /// When the group's last crash was.
  private var byAge = PriorityQueue<String, ContinuousClock.Instant>()

  package var groupCount: Int { crashes.count }

  mutating func note(_ host: String, at now: ContinuousClock.Instant) {
    let group = HostGroup.name(of: host)
    crashes[group] = Array(((crashes[group] ?? []) + [now]).suffix(Self.maximumCount))
    byAge.set(group, to: now)
    if groupCount > Self.maximumGroupCount, let oldest = byAge.removeFirst() {
      crashes[oldest] = nil
    }
  }

  /// When the host may have another picture decoded; `nil` when it may now.
  func spentUntil(_ host: String, at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    guard let latest = crashes[HostGroup.name(of: host)], latest.count >= Self.maximumCount else {
      return nil
    }
    let end = latest[0] + Self.period
    return end > now ? end : nil
  }
}
