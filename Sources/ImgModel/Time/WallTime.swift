import FoundationEssentials

/// A moment in milliseconds since 1970-01-01T00:00:00Z, for times that outlive a process: expiry
/// and job times. Durations inside a process use `ContinuousClock.Instant`.
///
/// In JSON it is RFC 3339 text in UTC with milliseconds, `2026-01-02T03:04:05.678Z`.
package struct WallTime: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: Int64

  package init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// The moment `time` after midnight of `date` in UTC.
  package init(_ date: CivilDate, _ time: Duration = .zero) {
    self = WallTime(rawValue: 0).advanced(by: Duration.seconds(date.daysSince1970) * 86_400 + time)
  }

  /// Now, by the clock of the machine, which can jump.
  package static var now: WallTime {
    WallTime(rawValue: Int64((Date.now.timeIntervalSince1970 * 1000).rounded(.down)))
  }

  /// Earlier than every other moment.
  package static let distantPast = WallTime(rawValue: .min)

  /// The moment `duration` later, clamped to the range.
  package func advanced(by duration: Duration) -> WallTime {
    let milliseconds = duration.milliseconds
    let (sum, overflow) = rawValue.addingReportingOverflow(milliseconds)
    if overflow { return WallTime(rawValue: milliseconds > 0 ? .max : .min) }
    return WallTime(rawValue: sum)
  }

  /// The time from `self` to `other`; negative if `other` is earlier.
  package func duration(to other: WallTime) -> Duration {
    .milliseconds(other.rawValue) - .milliseconds(rawValue)
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

extension WallTime: Codable, CustomStringConvertible {
  private static let wholeSeconds = Date.ISO8601FormatStyle()
  private static let withFraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// The last moment that RFC 3339 can express. Later moments print as this one.
  private static let lastRepresentable: Int64 = 253_402_300_799_999

  package var description: String {
    let (seconds, milliseconds) = min(max(rawValue, 0), Self.lastRepresentable)
      .quotientAndRemainder(dividingBy: 1000)
    // ISO8601FormatStyle truncates binary fractions, which is one millisecond less in half of all
    // cases.
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
