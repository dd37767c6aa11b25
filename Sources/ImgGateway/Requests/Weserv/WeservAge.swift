/// The value of weserv's option `maxage`.
enum WeservAge {
  /// Reads a whole number with one of the units of nginx that weserv takes: `s` (also without a unit), `m`,
  /// `h`, `d`, `w`, `M` for 30 days and `y` for 365 days.
  ///
  /// weserv has at least a day, to spare its caches. Here a second will do.
  ///
  /// - Throws: 422 for another text, and for less than a second or more than a year.
  static func duration(_ value: OptionValue) throws(RequestRejection) -> Duration {
    let digits = value.text.utf8.prefix(while: \.isDigit)
    let unit = String(value.text.dropFirst(digits.count))
    guard let factor = seconds[unit], let number = Int64(Substring(digits)) else {
      throw value.invalid(advice)
    }
    let (total, isTooLarge) = number.multipliedReportingOverflow(by: factor)
    guard !isTooLarge, range.contains(total) else { throw value.invalid(advice) }
    return .seconds(total)
  }

  private static let day: Int64 = 86_400
  private static let range = 1...365 * day
  private static let advice = "a time from 1s to 1y, such as 12h, 31d or 2w"
  private static let seconds: [String: Int64] = [
    "": 1, "s": 1, "m": 60, "h": 3_600, "d": day, "w": 7 * day, "M": 30 * day, "y": 365 * day,
  ]
}
