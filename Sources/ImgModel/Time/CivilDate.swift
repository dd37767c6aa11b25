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
