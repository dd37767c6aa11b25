package import ImgModel

/// What the transfers of a worker have made known about hosts before they end.
package struct HostUpdates: Hashable, Sendable, Codable {
  package var cooldowns: [HostCooldown] = []
  /// The hosts that got requests for which no token was taken, once for each: for a robots.txt, or
  /// because a redirect led to the same host.
  package var extraRequests: [String] = []
  /// Leases of `fetch` whose origins' robots.txt is known by now.
  package var robotsKnown: [LeaseID] = []

  package init(
    cooldowns: [HostCooldown] = [], extraRequests: [String] = [], robotsKnown: [LeaseID] = []
  ) {
    self.cooldowns = cooldowns
    self.extraRequests = extraRequests
    self.robotsKnown = robotsKnown
  }

  package var isEmpty: Bool { cooldowns.isEmpty && extraRequests.isEmpty && robotsKnown.isEmpty }

  private enum CodingKeys: String, CodingKey {
    case cooldowns
    case extraRequests = "extra_requests"
    case robotsKnown = "robots_known"
  }
}
