package import ImgModel

/// The end of a `get`.
package struct GotReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let outcome: Outcome
  /// What is done but not in the store; then the file beside this message holds it. `nil` for what
  /// is in the store or was not made.
  package let uncached: UncachedThumbnail?
  /// Of what was fetched or decoded for this request, unless `uncached` tells them.
  package let timings: Timings?

  package init(
    id: RequestID, outcome: Outcome, uncached: UncachedThumbnail? = nil, timings: Timings? = nil
  ) {
    self.id = id
    self.outcome = outcome
    self.uncached = uncached
    self.timings = timings
  }
}
