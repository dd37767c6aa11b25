import FoundationEssentials

/// A moment of the calendar, in milliseconds since 1970-01-01T00:00:00Z. What outlives a process
/// (expiry, job times) is kept in it; what is measured inside one uses `ContinuousClock.Instant`.
///
/// In JSON it is RFC 3339 text in UTC with milliseconds, `2026-01-02T03:04:05.678Z`.
package struct WallTime: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: Int64

  package init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// Before every other moment.
  package static let distantPast = WallTime(rawValue: .min)

  /// The moment `milliseconds` later; stops at the ends of the range rather than overflow.
  package func advanced(byMilliseconds milliseconds: Int64) -> WallTime {
    let (sum, overflow) = rawValue.addingReportingOverflow(milliseconds)
    if overflow { return WallTime(rawValue: milliseconds > 0 ? .max : .min) }
    return WallTime(rawValue: sum)
  }

  /// Milliseconds from `self` to `other`, negative when `other` is earlier.
  package func milliseconds(to other: WallTime) -> Int64 {
    let (difference, overflow) = other.rawValue.subtractingReportingOverflow(rawValue)
    if overflow { return other > self ? .max : .min }
    return difference
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

extension WallTime: Codable, CustomStringConvertible {
  private static let wholeSeconds = Date.ISO8601FormatStyle()
  private static let withFraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// The last moment that RFC 3339 can write; later ones are shown as it.
  private static let lastRepresentable: Int64 = 253_402_300_799_999

  package var description: String {
    let (seconds, milliseconds) = min(max(rawValue, 0), Self.lastRepresentable)
      .quotientAndRemainder(dividingBy: 1000)
    // The style would cut the fraction of a binary number, one millisecond short half of the time.
    let text = Self.wholeSeconds.format(Date(timeIntervalSince1970: Double(seconds)))
    return "\(text.dropLast()).\(String(milliseconds + 1000).dropFirst())Z"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let date = try Self.withFraction.parse(container.decode(String.self))
    self.init(rawValue: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
