package import FoundationEssentials

/// A moment in milliseconds since 1970-01-01T00:00:00Z, for times that outlive a process: expiry
/// and job times. Durations inside a process use ``Instant``.
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

extension WallTime: WrappingValue, CustomStringConvertible {
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

  package var coded: String { description }

  // What has a raw value would be coded as that.
  package init(from decoder: any Decoder) throws {
    try self.init(coded: decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  package init(coded text: String) throws {
    let date = try Self.withFraction.parse(text)
    self.init(rawValue: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }
}

extension Date {
  package init(_ time: WallTime) {
    self.init(timeIntervalSince1970: Double(time.rawValue) / 1_000)
  }
}

extension WallTime {
  /// Clamped to what a date of the store can be.
  package init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    self.init(rawValue: Int64(min(max(milliseconds, -9e18), 9e18)))
  }
}

/// A moment of this process, by a clock that never jumps and goes on while the machine sleeps: that of
/// `ContinuousClock`.
///
/// The layout of `ContinuousClock.Instant` is known only when a program runs (its module is resilient), and with it
/// that of every value which holds one. The machines of this program hold thousands, and copy and move them fast.
package struct Instant: Hashable, Comparable, Sendable {
  /// The time since the clock began.
  private let time: Duration

  package static var now: Instant {
    Instant(time: ContinuousClock().systemEpoch.duration(to: .now))
  }

  /// The same moment for what takes the standard library's.
  package var onContinuousClock: ContinuousClock.Instant {
    ContinuousClock().systemEpoch.advanced(by: time)
  }

  package static func < (left: Self, right: Self) -> Bool { left.time < right.time }

  package static func + (instant: Self, duration: Duration) -> Self {
    Instant(time: instant.time + duration)
  }

  package static func - (instant: Self, duration: Duration) -> Self {
    Instant(time: instant.time - duration)
  }

  /// The time between two moments; negative if the left one is earlier.
  package static func - (left: Self, right: Self) -> Duration { left.time - right.time }
}

/// When an event is handled: passed in, because the machines that handle it have no clock.
package struct Moment: Hashable, Sendable {
  /// For what is measured: timeouts, backoff.
  package let instant: Instant
  /// For what is written down: when a job started and ended.
  package let wall: WallTime

  package init(instant: Instant, wall: WallTime) {
    self.instant = instant
    self.wall = wall
  }

  /// Now, for the drivers of the machines.
  package static var now: Moment { Moment(instant: .now, wall: .now) }
}

/// Durations as whole numbers, for JSON, for the store, and for what people and C read.
extension Duration {
  /// The duration in milliseconds, rounded to the nearest and clamped to the range.
  package var milliseconds: Int64 {
    let attosecondsPerMillisecond: Int128 = 1_000_000_000_000_000
    // Up to 9 seconds, which most durations are, a division of 64 bits does.
    if let attoseconds = UInt64(exactly: attoseconds), attoseconds < .max / 2 {
      return Int64((attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000)
    }
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: attosecondsPerMillisecond)
    guard rest.magnitude * 2 >= attosecondsPerMillisecond.magnitude else {
      return Int64(clamping: whole)
    }
    return Int64(clamping: whole + rest.signum())
  }

  /// The duration in seconds, rounded up and clamped to the range.
  package var secondsRoundedUp: Int64 {
    let attosecondsPerSecond: Int128 = 1_000_000_000_000_000_000
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: attosecondsPerSecond)
    return Int64(clamping: rest > 0 ? whole + 1 : whole)
  }
}

extension ClosedRange<Duration> {
  /// The range in milliseconds.
  package var milliseconds: ClosedRange<Int64> {
    lowerBound.milliseconds...upperBound.milliseconds
  }
}

/// A random source that a number replays: SplitMix64 (Steele, Lea and Flood 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  /// Its finaliser: every bit of the input changes half of the output's.
  package static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension Optional where Wrapped: Comparable {
  /// The lesser of both, or the one that is there.
  package func orLess(_ other: Wrapped?) -> Wrapped? {
    guard let self, let other else { return self ?? other }
    return Swift.min(self, other)
  }
}
