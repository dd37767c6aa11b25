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
  /// How long the thumbnails are kept from their download on.
  package let expireAfterMilliseconds: Int64
  /// Whether somebody waits for each of them in person: they are decoded before others, the newest
  /// first.
  package let isUrgent: Bool
  package let items: [Assignment]

  package init(
    variant: Variant, expireAfterMilliseconds: Int64, isUrgent: Bool, items: [Assignment]
  ) {
    self.variant = variant
    self.expireAfterMilliseconds = expireAfterMilliseconds
    self.isUrgent = isUrgent
    self.items = items
  }

  private enum CodingKeys: String, CodingKey {
    case variant
    case expireAfterMilliseconds = "expire_after_ms"
    case isUrgent = "urgent"
    case items
  }
}
