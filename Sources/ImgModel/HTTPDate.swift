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
