package import ImgModel

/// One leased URL.
package struct Assignment: Hashable, Sendable, Codable {
  package let lease: LeaseID
  /// The URL as in ``ImageURL/text``.
  package let url: String

  package init(lease: LeaseID, url: String) {
    self.lease = lease
    self.url = url
  }
}

/// URLs with the same request.
package struct Batch: Hashable, Sendable, Codable {
  package let request: ThumbnailRequest
  /// The retention of the results. In a look-up it applies to the hits: the worker extends a shorter
  /// retention before it answers.
  package let retention: Retention
  /// Whether a client waits for each result. The worker decodes urgent pictures first, newest first.
  package let isUrgent: Bool
  package let items: [Assignment]
  /// Whether a stale record counts as a hit if stale-if-error allows it (RFC 5861 section 4). Set
  /// while the host's circuit breaker is open or half-open.
  package let takesStale: Bool

  package init(
    _ request: ThumbnailRequest, retention: Retention, isUrgent: Bool, items: [Assignment],
    takesStale: Bool = false
  ) {
    self.request = request
    self.retention = retention
    self.isUrgent = isUrgent
    self.items = items
    self.takesStale = takesStale
  }

  private enum CodingKeys: String, CodingKey {
    case request, retention
    case isUrgent = "urgent"
    case items
    case takesStale = "stale_if_error"
  }
}
