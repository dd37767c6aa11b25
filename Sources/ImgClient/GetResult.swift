package import ImgModel

/// The end of a `get`.
package struct GetResult: Sendable {
  package let outcome: Outcome
  /// The thumbnail where it is done but not in the store; nobody can have it a second time. `nil`
  /// for one that is in the store or was not made.
  package let uncached: UncachedPicture?
  /// What was done for it took this long; `nil` for what was in the store.
  package let timings: Timings?
}

/// A thumbnail that is not in the store, and its bytes.
package struct UncachedPicture: Sendable {
  package let facts: UncachedThumbnail
  package let bytes: [UInt8]
}
