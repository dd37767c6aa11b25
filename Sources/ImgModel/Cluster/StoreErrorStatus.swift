/// The store is degraded: it stores no thumbnails at present.
package struct StoreErrorStatus: Hashable, Sendable, Codable {
  /// The last error, for people.
  package var reason: String
  /// The time of the first error.
  package let since: WallTime
  /// The uncached thumbnails that clients have received since then.
  package var servedCount: Int

  package init(reason: String, since: WallTime, servedCount: Int = 0) {
    self.reason = reason
    self.since = since
    self.servedCount = servedCount
  }

  private enum CodingKeys: String, CodingKey {
    case reason, since
    case servedCount = "served"
  }
}
