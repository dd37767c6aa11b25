/// The HTTP freshness of a stored response: the moments that follow from its header fields by
/// RFC 9111 and RFC 5861.
package struct ReuseTerms: Hashable, Sendable {
  /// The response is stale from this moment on.
  package let freshUntil: WallTime
  /// Until this moment a stale response may be served while it is revalidated.
  package let staleWhileRevalidateUntil: WallTime
  /// Until this moment a stale response may be served if the origin fails.
  package let staleIfErrorUntil: WallTime
  /// The header fields that revalidation and a 304 need, one a line.
  package let fields: String

  /// A response that is always stale and cannot be revalidated.
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
