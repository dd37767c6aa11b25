package import ImgModel

/// Facts about hosts that a worker learns from transfers in progress.
package struct HostUpdates: Hashable, Sendable, Codable {
  package var cooldowns: [HostCooldown] = []
  /// One entry for each request that took no token from its host's bucket: a request for robots.txt,
  /// or a redirect within the host.
  package var extraRequests: [String] = []
  /// The leases of `fetch` whose origin's robots.txt is now known.
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
