/// Why the store takes no thumbnails now, and what that has come to.
package struct StoreErrorStatus: Hashable, Sendable, Codable {
  /// What the store said last, in words.
  package var reason: String
  /// When it first said so.
  package let since: WallTime
  /// Thumbnails that viewers have got since then without their being stored.
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
