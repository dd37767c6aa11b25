package import ImgModel

/// The result of a lease whose thumbnail is not in the store.
package struct UncachedResult: Hashable, Sendable, Codable {
  package let lease: LeaseID
  package let made: UncachedThumbnail
  /// Bytes of the response body.
  package let bytesFetched: Int
  /// Whether the store is degraded: it stores no thumbnails at present. `false` if only this thumbnail
  /// is not stored.
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
