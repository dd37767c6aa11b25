/// What the transfers of a worker have made known about hosts before they end.
package struct HostNotices: Hashable, Sendable, Codable {
  package var rests: [HostRest] = []
  /// The hosts that got requests for which no token was taken, once for each: for a robots.txt, or
  /// because a redirect led to the same host.
  package var extraRequests: [String] = []
  /// Leases of `fetch` whose origins' robots.txt is known by now.
  package var robotsKnown: [LeaseID] = []

  package init(
    rests: [HostRest] = [], extraRequests: [String] = [], robotsKnown: [LeaseID] = []
  ) {
    self.rests = rests
    self.extraRequests = extraRequests
    self.robotsKnown = robotsKnown
  }

  package var isEmpty: Bool { rests.isEmpty && extraRequests.isEmpty && robotsKnown.isEmpty }

  private enum CodingKeys: String, CodingKey {
    case rests
    case extraRequests = "extra_requests"
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
