package import ImgModel

/// The result of a `get` or an `upload`.
package struct GotReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let outcome: Outcome
  /// A thumbnail that is not in the store: the file beside this message has its bytes. `nil` if the
  /// thumbnail is in the store or there is none.
  package let uncached: UncachedThumbnail?
  /// The timings of a fetch or decode for this request, unless `uncached` has them.
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
