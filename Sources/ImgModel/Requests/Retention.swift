/// How long the store keeps a thumbnail: the union of what its requests ask for. The longest value of
/// each kind wins, so no request shortens the retention of another. ``Keep`` says what is stored.
package struct Retention: Hashable, Sendable, Codable {
  /// The duration from the download on; 0 if no request names one.
  @Milliseconds package private(set) var after: Duration
  /// The earliest end; `nil` if no request names a date.
  package private(set) var until: WallTime?
  /// The duration from each access on; 0 if accesses do not extend the retention.
  @Milliseconds package private(set) var sliding: Duration
  /// The jobs that pin the thumbnail, see ``PinPolicy``, in ascending order.
  package private(set) var pins: [JobID]

  /// No retention, unless arguments are given.
  ///
  /// - Precondition: `pins` are in ascending order.
  package init(
    after: Duration = .zero, until: WallTime? = nil, sliding: Duration = .zero, pins: [JobID] = []
  ) {
    self.after = after
    self.until = until
    self.sliding = sliding
    self.pins = pins
  }

  private enum CodingKeys: String, CodingKey {
    case after = "expire_after_ms"
    case until = "expire_at"
    case sliding = "expire_on_access_ms"
    case pins
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      after: try container.decode(Milliseconds.self, forKey: .after).wrappedValue,
      until: try container.decodeIfPresent(WallTime.self, forKey: .until),
      sliding: try container.decode(Milliseconds.self, forKey: .sliding).wrappedValue,
      pins: try container.decodeIfPresent([JobID].self, forKey: .pins) ?? [])
  }

  /// Leaves `pins` out if there are none.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(_after, forKey: .after)
    try container.encodeIfPresent(until, forKey: .until)
    try container.encode(_sliding, forKey: .sliding)
    if !pins.isEmpty { try container.encode(pins, forKey: .pins) }
  }

  /// The same for a thumbnail that no job pins.
  package var withoutPins: Retention { Retention(after: after, until: until, sliding: sliding) }

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
    if pins != other.pins { pins = Set(pins).union(other.pins).sorted() }
  }

  /// Whether this retention is at least as long as the other in every kind.
  package func covers(_ other: Retention) -> Bool {
    var union = self
    union.formUnion(other)
    return union == self
  }
}
