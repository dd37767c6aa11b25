package import ImgModel

/// Facts about hosts that a worker learns from transfers in progress, and about the pace of these.
package struct HostUpdates: Hashable, Sendable, Codable {
  package var cooldowns: [HostCooldown] = []
  /// One entry for each request that took no token from its host's bucket: a request for robots.txt,
  /// or a redirect within the host.
  package var extraRequests: [String] = []
  /// The leases of `fetch` whose origin's robots.txt is now known.
  package var robotsKnown: [LeaseID] = []
  /// Transfers that have turned slow: less arrives than a stated rate.
  package var slow: [TransferID] = []
  /// Transfers that were slow and are not any more.
  package var fast: [TransferID] = []

  package init(
    cooldowns: [HostCooldown] = [], extraRequests: [String] = [], robotsKnown: [LeaseID] = [],
    slow: [TransferID] = [], fast: [TransferID] = []
  ) {
    self.cooldowns = cooldowns
    self.extraRequests = extraRequests
    self.robotsKnown = robotsKnown
    self.slow = slow
    self.fast = fast
  }

  package var isEmpty: Bool {
    cooldowns.isEmpty && extraRequests.isEmpty && robotsKnown.isEmpty && slow.isEmpty
      && fast.isEmpty
  }

  private enum CodingKeys: String, CodingKey {
    case cooldowns
    case extraRequests = "extra_requests"
    case robotsKnown = "robots_known"
    case slow, fast
  }
}
