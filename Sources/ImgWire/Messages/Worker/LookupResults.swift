package import ImgModel

/// The result of a look-up. Each lease of the batch is in exactly one of `hits`, `originals` and
/// `misses`.
package struct LookupResults: Hashable, Sendable, Codable {
  package struct Hit: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let thumbnail: Thumbnail

    package init(lease: LeaseID, thumbnail: Thumbnail) {
      self.lease = lease
      self.thumbnail = thumbnail
    }
  }

  package let hits: [Hit]
  /// The hits that are served stale while they are revalidated (RFC 5861 section 3).
  package let stale: [LeaseID]
  /// The leases whose original is in the store, so the thumbnail can be made without a fetch.
  package let originals: [LeaseID]
  package let misses: [LeaseID]

  package init(
    hits: [Hit], stale: [LeaseID] = [], originals: [LeaseID], misses: [LeaseID]
  ) {
    self.hits = hits
    self.stale = stale
    self.originals = originals
    self.misses = misses
  }
}
