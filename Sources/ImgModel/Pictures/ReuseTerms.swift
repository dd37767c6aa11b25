/// On what terms a stored answer of an origin may be used again, by HTTP: what RFC 9111 and RFC
/// 5861 make of its header fields, as moments.
package struct ReuseTerms: Hashable, Sendable {
  /// From this moment on it is stale.
  package let freshUntil: WallTime
  /// Before this moment it may be used although it is stale, if the origin is asked meanwhile.
  package let staleWhileRevalidateUntil: WallTime
  /// Before this moment it may be used although it is stale, if the origin fails.
  package let staleIfErrorUntil: WallTime
  /// The header fields that matter when the origin says that the answer still holds, a line each.
  package let fields: String

  /// Never without asking the origin, and there is nothing to ask it about.
  package static let none = ReuseTerms(
    freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
    staleIfErrorUntil: .distantPast, fields: "")

  package init(
    freshUntil: WallTime, staleWhileRevalidateUntil: WallTime, staleIfErrorUntil: WallTime,
    fields: String
  ) {
    self.freshUntil = freshUntil
    self.staleWhileRevalidateUntil = staleWhileRevalidateUntil
    self.staleIfErrorUntil = staleIfErrorUntil
    self.fields = fields
  }

  package func isFresh(at now: WallTime) -> Bool { now < freshUntil }

  package func servesWhileRevalidating(at now: WallTime) -> Bool {
    now < staleWhileRevalidateUntil
  }

  package func servesAfterError(at now: WallTime) -> Bool { now < staleIfErrorUntil }
}
