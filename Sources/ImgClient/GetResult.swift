package import ImgModel

/// The end of a `get`.
package struct GetResult: Sendable {
  package let outcome: Outcome
  /// The thumbnail if it was made but not stored; no later request can read it. `nil` if it is in the
  /// store or was not made.
  package let uncached: UncachedPicture?
  /// How long each step took; `nil` for a thumbnail that was in the store.
  package let timings: Timings?
}

/// A thumbnail that is not in the store, and its bytes.
package struct UncachedPicture: Sendable {
  package let facts: UncachedThumbnail
  package let bytes: [UInt8]
}
