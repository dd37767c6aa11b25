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

/// A date of HTTP. It is read in any of its three forms (RFC 9110 section 5.6.7). Letters count in either
/// case, and any time zone but GMT makes it no date (RFC 9111 section 4.2). Foundation's Essentials
/// have no style for these forms.
package struct HTTPDate: Hashable, Sendable {
  private static let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
  private static let longDays = [
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
  ]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// Whole seconds.
  package let moment: WallTime

  /// The second of a moment.
  package init(_ moment: WallTime) {
    let seconds = Int64((Double(moment.rawValue) / 1000).rounded(.down))
    self.moment = WallTime(rawValue: seconds * 1000)
  }

  /// - Parameter now: decides the century of a year of two digits.
  /// - Returns: `nil` for text that is no date.
  package init?(_ text: String, now: WallTime) {
    // asctime pads the day with a blank.
    let words = Array(text.lowercased().utf8).split(separator: UInt8(ascii: " "))
    let found =
      Self.fixedDate(words) ?? Self.obsoleteDate(words, now: now) ?? Self.asctimeDate(words)
    guard let found else { return nil }
    moment = found
  }

  /// The form that is written: `Sun, 06 Nov 1994 08:49:37 GMT`.
  package var text: String {
    let seconds = moment.rawValue / 1000
    let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let date = CivilDate(daysSince1970: days)
    let time = seconds - days * 86_400
    // 1970-01-01 was a Thursday.
    let weekday = Self.days[Int(((days + 4) % 7 + 7) % 7)].capitalizedWord
    let month = Self.months[Int(date.month) - 1].capitalizedWord
    return "\(weekday), \(Self.digits(date.day, 2)) \(month) \(Self.digits(date.year, 4)) "
      + "\(Self.digits(time / 3600, 2)):\(Self.digits(time / 60 % 60, 2)):"
      + "\(Self.digits(time % 60, 2)) GMT"
  }

  private static func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }

  /// Bytes in lower case. A head has several dates, and texts of letters take long to read.
  private typealias Word = ArraySlice<UInt8>

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  private static func fixedDate(_ words: [Word]) -> WallTime? {
    guard words.count == 6, isZone(words[5]), isDay(words[0], of: days),
      let year = number(words[3], digitCount: 4)
    else { return nil }
    return moment(year: year, month: words[2], day: number(words[1], digitCount: 2), words[4])
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func obsoleteDate(_ words: [Word], now: WallTime) -> WallTime? {
    guard words.count == 4, isZone(words[3]), isDay(words[0], of: longDays) else { return nil }
    let parts = words[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, let lastDigits = number(parts[2], digitCount: 2) else { return nil }
    let day = number(parts[0], digitCount: 2)
    let century = (now.year / 100 - 1) * 100
    let candidates = stride(from: century, through: century + 200, by: 100).compactMap {
      moment(year: $0 + lastDigits, month: parts[1], day: day, words[2])
    }
    // A date that seems to be more than 50 years in the future is of the last year in the past with
    // the same two digits.
    return candidates.last { $0.year - now.year <= 50 }
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctimeDate(_ words: [Word]) -> WallTime? {
    guard words.count == 5, position(of: words[0], in: days) != nil,
      let year = number(words[4], digitCount: 4)
    else { return nil }
    return moment(
      year: year, month: words[1], day: number(words[2], digitCount: words[2].count), words[3])
  }

  private static func moment(
    year: Int64, month: Word, day: Int64?, _ time: Word
  ) -> WallTime? {
    guard let month = position(of: month, in: months), let day,
      let date = CivilDate(year: year, month: Int64(month) + 1, day: day),
      let time = timeOfDay(time)
    else { return nil }
    return WallTime(date, time)
  }

  /// The time since midnight, of `08:49:37`. A 60th second is a leap second.
  private static func timeOfDay(_ time: Word) -> Duration? {
    let colon = UInt8(ascii: ":")
    guard time.count == 8, time[time.startIndex + 2] == colon, time[time.startIndex + 5] == colon,
      let hour = number(time.prefix(2), digitCount: 2), hour < 24,
      let minute = number(time.dropFirst(3).prefix(2), digitCount: 2), minute < 60,
      let second = number(time.suffix(2), digitCount: 2), second <= 60
    else { return nil }
    return .seconds((hour * 60 + minute) * 60 + second)
  }

  private static func isZone(_ word: Word) -> Bool { word.elementsEqual("gmt".utf8) }

  /// Whether a word is one of the days and a comma.
  private static func isDay(_ word: Word, of days: [String]) -> Bool {
    word.last == UInt8(ascii: ",") && position(of: word.dropLast(), in: days) != nil
  }

  private static func position(of word: Word, in names: [String]) -> Int? {
    names.firstIndex { word.elementsEqual($0.utf8) }
  }

  private static func number(_ word: Word, digitCount: Int) -> Int64? {
    guard word.count == digitCount,
      word.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int64(String(decoding: word, as: UTF8.self))
  }
}

extension WallTime {
  /// The year, to within the day that leap years shift: enough for two digits of a year.
  fileprivate var year: Int64 { 1970 + rawValue / 31_556_952_000 }
}

extension String {
  /// A word with its first letter in upper case.
  fileprivate var capitalizedWord: String { prefix(1).uppercased() + dropFirst() }
}

/// A day of the proleptic Gregorian calendar.
package struct CivilDate {
  package let year: Int64
  package let month: Int64
  package let day: Int64

  private static let monthLengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

  /// - Returns: `nil` for a day that does not exist.
  package init?(year: Int64, month: Int64, day: Int64) {
    guard (1...12).contains(month) else { return nil }
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let isLeapMonth = isLeapYear && month == 2
    let length = Self.monthLengths[Int(month) - 1] + (isLeapMonth ? 1 : 0)
    guard (1...length).contains(day) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// The day with a number, see ``daysSince1970``.
  package init(daysSince1970 days: Int64) {
    let daysSinceMarch0 = days + 719_468
    let era = (daysSinceMarch0 >= 0 ? daysSinceMarch0 : daysSinceMarch0 - 146_096) / 146_097
    let dayOfEra = daysSinceMarch0 - era * 146_097
    // Leap days: one in 4 years, none in 100, one in 400.
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month > 2 ? 0 : 1)
  }

  /// Days since 1970-01-01; negative before it.
  ///
  /// Years start in March, so the leap day is the last day of a year. Eras of 400 years all have
  /// 146,097 days.
  package var daysSince1970: Int64 {
    let yearFromMarch = month > 2 ? year : year - 1
    let era = (yearFromMarch >= 0 ? yearFromMarch : yearFromMarch - 399) / 400
    let yearOfEra = yearFromMarch - era * 400
    let monthFromMarch = (month + 9) % 12
    // Starting in March, each group of five months has 153 days.
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    // 1970-01-01 is day 719,468 after 0000-03-01.
    return era * 146_097 + dayOfEra - 719_468
  }
}
