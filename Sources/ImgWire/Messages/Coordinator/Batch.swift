package import ImgModel

/// One URL under one lease.
package struct Assignment: Hashable, Sendable, Codable {
  package let lease: LeaseID
  /// In the spelling of ``ImageURL/text``.
  package let url: String

  package init(lease: LeaseID, url: String) {
    self.lease = lease
    self.url = url
  }
}

/// URLs of which the same is made.
package struct Batch: Hashable, Sendable, Codable {
  package let request: ThumbnailRequest
  /// How long the results are kept. In a look-up it applies to the hits: a hit that expires earlier
  /// is kept for longer before the look-up is answered.
  package let retention: Retention
  /// Whether a client waits for each of them: they are decoded before others, the newest first.
  package let isUrgent: Bool
  package let items: [Assignment]
  /// Whether a look-up takes a stale record that may be used after an error for a hit, because the
  /// host is known to fail (RFC 5861 section 4).
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
