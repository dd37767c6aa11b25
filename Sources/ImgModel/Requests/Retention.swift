/// How long the store keeps a thumbnail: the union of what its requests ask for. The longest value of
/// each kind wins, so no request shortens the retention of another. ``Keep`` says what is stored.
package struct Retention: Hashable, Sendable, Codable {
  /// The duration from the download on; 0 if no request names one.
  package private(set) var afterMilliseconds: Int64
  /// The earliest end; `nil` if no request names a date.
  package private(set) var until: WallTime?
  /// The duration from each access on; 0 if accesses do not extend the retention.
  package private(set) var slidingMilliseconds: Int64

  /// No retention, unless arguments are given.
  package init(
    afterMilliseconds: Int64 = 0, until: WallTime? = nil, slidingMilliseconds: Int64 = 0
  ) {
    self.afterMilliseconds = afterMilliseconds
    self.until = until
    self.slidingMilliseconds = slidingMilliseconds
  }

  private enum CodingKeys: String, CodingKey {
    case afterMilliseconds = "expire_after_ms"
    case until = "expire_at"
    case slidingMilliseconds = "expire_on_access_ms"
  }

  /// The expiry of a thumbnail that is stored at `storedAt` and not accessed: the later of the two
  /// ends, even if it is in the past. Without a retention, it is `storedAt`.
  package func expiresAt(storedAt: WallTime) -> WallTime {
    let end = storedAt.advanced(byMilliseconds: afterMilliseconds)
    guard let until else { return end }
    return afterMilliseconds > 0 ? max(until, end) : until
  }

  package mutating func formUnion(_ other: Retention) {
    afterMilliseconds = max(afterMilliseconds, other.afterMilliseconds)
    until = [until, other.until].compactMap(\.self).max()
    slidingMilliseconds = max(slidingMilliseconds, other.slidingMilliseconds)
  }

  /// Whether this retention is at least as long as the other in every kind.
  package func covers(_ other: Retention) -> Bool {
    var union = self
    union.formUnion(other)
    return union == self
  }
}
