package import ImgModel

/// The end of a lease with a thumbnail that is not in the store.
package struct UncachedResult: Hashable, Sendable, Codable {
  package let lease: LeaseID
  package let made: UncachedThumbnail
  /// Bytes of body that the origin sent for it.
  package let bytesFetched: Int
  /// Whether it is the store that takes nothing now, rather than this thumbnail that is not for it.
  package let isStoreDegraded: Bool

  package init(
    lease: LeaseID, made: UncachedThumbnail, bytesFetched: Int, isStoreDegraded: Bool
  ) {
    self.lease = lease
    self.made = made
    self.bytesFetched = bytesFetched
    self.isStoreDegraded = isStoreDegraded
  }

  private enum CodingKeys: String, CodingKey {
    case lease, made
    case bytesFetched = "bytes_fetched"
    case isStoreDegraded = "store_degraded"
  }
}
