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

/// URLs that are to become thumbnails of one variant.
package struct Batch: Hashable, Sendable, Codable {
  package let variant: Variant
  package let keep: Keep
  package let fetch: FetchOptions
  /// How long it is to be kept. In a look-up it is asked of those that are found, which are kept for
  /// longer where it is longer, before the look-up is answered.
  package let retention: Retention
  /// Whether somebody waits for each of them in person: they are decoded before others, the newest
  /// first.
  package let isUrgent: Bool
  package let items: [Assignment]
  /// Whether the thumbnails are handed over and not stored.
  package let bypassesStore: Bool
  /// Whether a look-up takes what is stale for fresh where that may be used after an error, because
  /// the host is known to fail (RFC 5861 section 4).
  package let takesStale: Bool

  package init(
    variant: Variant, keep: Keep, fetch: FetchOptions = .standard, retention: Retention,
    isUrgent: Bool, items: [Assignment], bypassesStore: Bool = false, takesStale: Bool = false
  ) {
    self.variant = variant
    self.keep = keep
    self.fetch = fetch
    self.retention = retention
    self.isUrgent = isUrgent
    self.items = items
    self.bypassesStore = bypassesStore
    self.takesStale = takesStale
  }

  private enum CodingKeys: String, CodingKey {
    case variant, keep, fetch, retention
    case isUrgent = "urgent"
    case items
    case bypassesStore = "no_cache"
    case takesStale = "stale_if_error"
  }
}
