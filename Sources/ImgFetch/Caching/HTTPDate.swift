import ImgWire

/// Reads a date of HTTP in any of its three forms (RFC 9110 section 5.6.7). Letters count in either
/// case, and any time zone but GMT makes it no date (RFC 9111 section 4.2).
struct HTTPDate {
  private static let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
  private static let longDays = [
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
  ]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]
  private static let millisecondsInDay: Int64 = 86_400_000

  let moment: WallTime

  /// - Parameter now: by which two digits of a year are understood.
  /// - Returns: `nil` for what is no date.
  init?(_ text: String, now: WallTime) {
    // asctime pads the day with a blank.
    let words = text.lowercased().split(separator: " ").map(String.init)
    let found =
      Self.fixedDate(words) ?? Self.obsoleteDate(words, now: now) ?? Self.asctimeDate(words)
    guard let found else { return nil }
    moment = found
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  private static func fixedDate(_ words: [String]) -> WallTime? {
    guard words.count == 6, words[5] == "gmt", days.contains(where: { words[0] == $0 + "," }),
      let year = number(words[3], digitCount: 4)
    else { return nil }
    return moment(year: year, month: words[2], day: number(words[1], digitCount: 2), words[4])
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func obsoleteDate(_ words: [String], now: WallTime) -> WallTime? {
    guard words.count == 4, words[3] == "gmt",
      longDays.contains(where: { words[0] == $0 + "," })
    else { return nil }
    let parts = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let lastDigits = number(parts[2], digitCount: 2) else { return nil }
    let day = number(parts[0], digitCount: 2)
    let century = (now.year / 100 - 1) * 100
    let candidates = stride(from: century, through: century + 200, by: 100).compactMap {
      moment(year: $0 + lastDigits, month: parts[1], day: day, words[2])
    }
    // What seems to be more than 50 years in the future is the last year in the past with the same
    // two digits.
    return candidates.last { $0.year - now.year <= 50 }
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctimeDate(_ words: [String]) -> WallTime? {
    guard words.count == 5, days.contains(words[0]), let year = number(words[4], digitCount: 4)
    else { return nil }
    return moment(
      year: year, month: words[1], day: number(words[2], digitCount: words[2].utf8.count), words[3])
  }

  private static func moment(
    year: Int64, month: String, day: Int64?, _ time: String
  ) -> WallTime? {
    guard let month = months.firstIndex(of: month), let day,
      let date = CivilDate(year: year, month: Int64(month) + 1, day: day),
      let milliseconds = millisecondsOfDay(time)
    else { return nil }
    return WallTime(rawValue: date.daysSince1970 * millisecondsInDay + milliseconds)
  }

  /// Of `08:49:37`. A 60th second is a leap second.
  private static func millisecondsOfDay(_ time: String) -> Int64? {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false)
      .map { number(String($0), digitCount: 2) }
    guard parts.count == 3, let hour = parts[0], hour < 24, let minute = parts[1], minute < 60,
      let second = parts[2], second <= 60
    else { return nil }
    return ((hour * 60 + minute) * 60 + second) * 1_000
  }

  private static func number(_ text: String, digitCount: Int) -> Int64? {
    let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber && text.utf8.count == digitCount ? Int64(text) : nil
  }
}

extension WallTime {
  /// The year, to within the day by which leap years shift it: enough for two digits of a year.
  fileprivate var year: Int64 { 1970 + rawValue / 31_556_952_000 }
}
