/// How long the store keeps a thumbnail: the union of what its requests ask for. The longest value of
/// each kind wins, so no request shortens the retention of another. ``Keep`` says what is stored.
package struct Retention: Hashable, Sendable, Codable {
  /// The duration from the download on; 0 if no request names one.
  @Milliseconds package private(set) var after: Duration
  /// The earliest end; `nil` if no request names a date.
  package private(set) var until: WallTime?
  /// The duration from each access on; 0 if accesses do not extend the retention.
  @Milliseconds package private(set) var sliding: Duration

  /// No retention, unless arguments are given.
  package init(after: Duration = .zero, until: WallTime? = nil, sliding: Duration = .zero) {
    self.after = after
    self.until = until
    self.sliding = sliding
  }

  private enum CodingKeys: String, CodingKey {
    case after = "expire_after_ms"
    case until = "expire_at"
    case sliding = "expire_on_access_ms"
  }

  /// The expiry of a thumbnail that is stored at `storedAt` and not accessed: the later of the two
  /// ends, even if it is in the past. Without a retention, it is `storedAt`.
  package func expiresAt(storedAt: WallTime) -> WallTime {
    let end = storedAt.advanced(by: after)
    guard let until else { return end }
    return after > .zero ? max(until, end) : until
  }

  package mutating func formUnion(_ other: Retention) {
    after = max(after, other.after)
    until = [until, other.until].compactMap(\.self).max()
    sliding = max(sliding, other.sliding)
  }

  /// Whether this retention is at least as long as the other in every kind.
  package func covers(_ other: Retention) -> Bool {
    var union = self
    union.formUnion(other)
    return union == self
  }
}
