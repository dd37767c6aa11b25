package import ImgModel

/// Reads a date of RFC 3339 (section 5.6), part by part. `Date.ISO8601FormatStyle` also reads dates
/// that do not exist, such as February 30, and ignores what follows a date.
struct DateReader {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) {
    rest = Array(text.utf8)[...]
  }

  /// - Returns: `nil` if the text is not exactly one date.
  mutating func readMoment() -> WallTime? {
    guard let date = readDate() else { return nil }
    guard !rest.isEmpty else { return WallTime(date) }
    guard skip("Tt"), let time = readTime(), let offset = readOffset(), rest.isEmpty else {
      return nil
    }
    return WallTime(date, time - offset)
  }

  private mutating func readDate() -> CivilDate? {
    guard let year = readNumber(digitCount: 4, below: 10_000), skip("-"),
      let month = readNumber(digitCount: 2, below: 13), skip("-"),
      let day = readNumber(digitCount: 2, below: 32)
    else { return nil }
    return CivilDate(year: year, month: month, day: day)
  }

  /// The time since midnight.
  private mutating func readTime() -> Duration? {
    guard let minutes = readMinutes(), skip(":"),
      let second = readNumber(digitCount: 2, below: 60), let fraction = readFraction()
    else { return nil }
    return minutes + .seconds(second) + fraction
  }

  /// A fraction of a second, truncated to milliseconds; 0 without one.
  private mutating func readFraction() -> Duration? {
    guard skip(".") else { return .zero }
    let digits = rest.prefix(while: Self.isDigit)
    rest = rest.dropFirst(digits.count)
    let thousandths = Array(digits.prefix(3)) + [UInt8](repeating: Self.zero, count: 3)
    return digits.isEmpty ? nil : .milliseconds(Self.number(thousandths.prefix(3)))
  }

  /// How far the local time is ahead of UTC.
  private mutating func readOffset() -> Duration? {
    if skip("Zz") { return .zero }
    let isBehind = rest.first == UInt8(ascii: "-")
    guard skip("+-"), let minutes = readMinutes() else { return nil }
    return isBehind ? .zero - minutes : minutes
  }

  /// Hours and minutes.
  private mutating func readMinutes() -> Duration? {
    guard let hour = readNumber(digitCount: 2, below: 24), skip(":"),
      let minute = readNumber(digitCount: 2, below: 60)
    else { return nil }
    return .seconds((hour * 60 + minute) * 60)
  }

  // MARK: - Characters

  private static let zero = UInt8(ascii: "0")

  private static func isDigit(_ byte: UInt8) -> Bool {
    (zero...UInt8(ascii: "9")).contains(byte)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64 {
    digits.reduce(0) { $0 * 10 + Int64($1 - zero) }
  }

  private mutating func readNumber(digitCount: Int, below limit: Int64) -> Int64? {
    let digits = rest.prefix(digitCount)
    guard digits.count == digitCount, digits.allSatisfy(Self.isDigit) else { return nil }
    rest = rest.dropFirst(digitCount)
    let number = Self.number(digits)
    return number < limit ? number : nil
  }

  /// Skips the next character if it is one of these.
  private mutating func skip(_ characters: StaticString) -> Bool {
    guard let next = rest.first, "\(characters)".utf8.contains(next) else { return false }
    rest = rest.dropFirst()
    return true
  }
}

extension Duration {
  /// Reads a text of ``UnitScale/duration`` with a value in `range`.
  package init(parsing text: String, in range: ClosedRange<Duration>) throws(InvalidValue) {
    guard text != "never" else {
      throw InvalidValue("\"never\" is not possible here; the longest is \(range.upperBound.text)")
    }
    self = .milliseconds(try UnitScale.duration.value(parsing: text, in: range.milliseconds))
  }

  /// The text that ``init(parsing:in:)`` reads, such as `90s`.
  ///
  /// - Precondition: the duration is not negative.
  package var text: String { UnitScale.duration.text(milliseconds) }
}

extension Expiry.Moment {
  /// The words for the longest expiry.
  private static let endless = ["never", "forever"]

  /// Reads a duration, `never` or `forever`, or a date as ``WallTime/init(parsing:)`` does.
  package init(parsing text: String) throws(InvalidValue) {
    if Self.endless.contains(text) {
      self = .after(RequestOptions.expiryRange.upperBound)
    } else if text.dropFirst().contains("-") {
      // Durations contain no hyphen.
      self = .at(try WallTime(parsing: text))
    } else {
      self = .after(try Duration(parsing: text, in: RequestOptions.expiryRange))
    }
  }
}

extension Expiry {
  /// - Throws: if the date has passed or is too far ahead for a thumbnail made now.
  package func check(at now: WallTime) throws(InvalidValue) {
    guard case .at(let date) = moment else { return }
    guard date > now else {
      throw InvalidValue("the expiry \(date) is in the past")
    }
    guard now.duration(to: date) <= RequestOptions.expiryRange.upperBound else {
      throw InvalidValue("the expiry \(date) is more than a century ahead")
    }
  }
}

extension WallTime {
  /// Reads a date of RFC 3339: `2027-01-01T12:00:00Z`, also with an offset instead of the Z or with
  /// a fraction, which is truncated to milliseconds; or `2027-01-01` for midnight in UTC.
  ///
  /// The second 60 is refused. It is valid only for a leap second, which Unix time does not count.
  package init(parsing text: String) throws(InvalidValue) {
    var reader = DateReader(text)
    guard let moment = reader.readMoment() else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a date; write one such as 2027-01-01, "
          + "2027-01-01T12:00:00Z or 2027-01-01T12:00:00+02:00")
    }
    self = moment
  }
}
