/// What the transfers of a worker have made known about hosts before they end.
package struct HostNotices: Hashable, Sendable, Codable {
  package var rests: [HostRest] = []
  /// The hosts that were asked for a robots.txt, as often as they were.
  package var robotsAsked: [String] = []
  /// Leases of `fetch` whose origins' robots.txt is known by now.
  package var robotsKnown: [LeaseID] = []

  package init(
    rests: [HostRest] = [], robotsAsked: [String] = [], robotsKnown: [LeaseID] = []
  ) {
    self.rests = rests
    self.robotsAsked = robotsAsked
    self.robotsKnown = robotsKnown
  }

  package var isEmpty: Bool { rests.isEmpty && robotsAsked.isEmpty && robotsKnown.isEmpty }

  private enum CodingKeys: String, CodingKey {
    case rests
    case robotsAsked = "robots_asked"
    case robotsKnown = "robots_known"
  }
}

/// A host's wish not to be asked for a while (Retry-After, RFC 9110 section 10.2.3).
package struct HostRest: Hashable, Sendable {
  /// See ``ImageURL/host``.
  package let host: String
  /// At most ``maximumSeconds``.
  package let milliseconds: Int64

  /// The longest wish that is obeyed: whoever wants more is asked again too early, and refuses.
  package static let maximumSeconds: Int64 = 300

  /// - Parameter seconds: what the host has said.
  package init(host: String, seconds: Int64) {
    self.host = host
    milliseconds = min(max(seconds, 0), Self.maximumSeconds) * 1_000
  }
}

extension HostRest: Codable {
  private enum CodingKeys: String, CodingKey {
    case host
    case milliseconds = "ms"
  }
}
