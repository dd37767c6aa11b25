package import FoundationEssentials

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

/// When an event is handled: passed in, because the machines that handle it have no clock.
package struct Moment: Hashable, Sendable {
  /// For what is measured: timeouts, backoff.
  package let instant: ContinuousClock.Instant
  /// For what is written down: when a job started and ended.
  package let wall: WallTime

  package init(instant: ContinuousClock.Instant, wall: WallTime) {
    self.instant = instant
    self.wall = wall
  }

  /// Now, for the drivers of the machines.
  package static var now: Moment { Moment(instant: .now, wall: .now) }
}

/// A duration that is encoded as a whole number of milliseconds.
@propertyWrapper
package struct Milliseconds: Hashable, Sendable {
  package var wrappedValue: Duration

  package init(wrappedValue: Duration) {
    self.wrappedValue = wrappedValue
  }
}

extension Milliseconds: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: .milliseconds(try container.decode(Int64.self)))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.milliseconds)
  }
}

/// A duration that is encoded as a whole number of milliseconds; `nil` as no value at all.
@propertyWrapper
package struct OptionalMilliseconds: Hashable, Sendable {
  package var wrappedValue: Duration?

  package init(wrappedValue: Duration?) {
    self.wrappedValue = wrappedValue
  }
}

extension OptionalMilliseconds: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(
      wrappedValue: container.decodeNil()
        ? nil : try container.decode(Milliseconds.self).wrappedValue)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.map(Milliseconds.init))
  }
}

// Synthesised coding calls these instead of the generic methods, which would require the key and
// write `null`.

extension KeyedDecodingContainer {
  package func decode(
    _ type: OptionalMilliseconds.Type, forKey key: Key
  ) throws -> OptionalMilliseconds {
    OptionalMilliseconds(
      wrappedValue: try decodeIfPresent(Milliseconds.self, forKey: key)?.wrappedValue)
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: OptionalMilliseconds, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue.map(Milliseconds.init), forKey: key)
  }
}

/// Durations as whole numbers, for JSON, for the store, and for what people and C read.
extension Duration {
  /// The duration in milliseconds, rounded to the nearest and clamped to the range.
  package var milliseconds: Int64 {
    let attosecondsPerMillisecond: Int128 = 1_000_000_000_000_000
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
