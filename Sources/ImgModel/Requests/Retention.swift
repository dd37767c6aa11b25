/// How long a thumbnail is to be kept: what those who wait for it ask for together. Of each kind the
/// longest counts, so that nobody's wish shortens another's.
package struct Retention: Hashable, Sendable, Codable {
  /// From the download on; 0 where nobody names a duration.
  package private(set) var afterMilliseconds: Int64
  /// At least until then; `nil` where nobody names a date.
  package private(set) var until: WallTime?
  /// From each access on; 0 where accesses change nothing.
  package private(set) var slidingMilliseconds: Int64

  /// Without arguments: nothing is asked for.
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

  /// When a thumbnail expires that was stored then and is not accessed: at the later of the two
  /// ends, also where that has passed; at once where nothing is asked for.
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

  /// Whether whoever gets this gets the other one with it.
  package func covers(_ other: Retention) -> Bool {
    var union = self
    union.formUnion(other)
    return union == self
  }
}
