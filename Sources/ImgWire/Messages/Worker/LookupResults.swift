package import ImgModel

/// A look-up's findings; every lease of the batch is in exactly one of hits, originals and misses.
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
  /// Those of the hits that are given out stale while their origins are to be asked about them.
  package let stale: [LeaseID]
  /// What can be made from the original of its URL, which the store has.
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
