import FoundationEssentials
import Glibc
@_spi(Coding) import ImgModel
import Testing

@Suite struct WallTimeTests {
  @Test func `a moment prints as RFC 3339`() {
    #expect(WallTime(rawValue: 1_700_000_000_123).description == "2023-11-14T22:13:20.123Z")
  }

  @Test func `a moment is a date and a time of day`() throws {
    let date = try #require(CivilDate(year: 2023, month: 11, day: 14))
    #expect(WallTime(date).description == "2023-11-14T00:00:00.000Z")
    let moment = WallTime(date, .seconds(80_000) + .milliseconds(123))
    #expect(moment == WallTime(rawValue: 1_700_000_000_123))
    let before = try #require(CivilDate(year: 1969, month: 12, day: 31))
    #expect(WallTime(before, .milliseconds(1)) == WallTime(rawValue: -86_399_999))
  }

  @Test func `now is the system's time`() {
    let before = time(nil)
    let now = WallTime.now.rawValue
    // The kernel's whole seconds may be one clock tick behind.
    #expect((Int64(before) * 1000...Int64(time(nil) + 1) * 1000).contains(now))
  }

  @Test func `sums are clamped to the range`() {
    #expect(WallTime(rawValue: .max).advanced(by: .milliseconds(1)) == WallTime(rawValue: .max))
    #expect(WallTime(rawValue: .min).advanced(by: .milliseconds(-1)) == WallTime(rawValue: .min))
  }

  @Test func `the time between any two moments is exact`() {
    let (first, last) = (WallTime(rawValue: .min), WallTime(rawValue: .max))
    #expect(WallTime(rawValue: 5).duration(to: WallTime(rawValue: 3)) == .milliseconds(-2))
    #expect(first.duration(to: last) == .milliseconds(UInt64.max))
    #expect(last.duration(to: first) == .zero - .milliseconds(UInt64.max))
  }
}

/// Durations as whole numbers, in Swift and in JSON.
@Suite struct DurationTests {
  @Test(
    arguments: [
      (.zero, 0), (.milliseconds(-7), -7), (.seconds(90), 90_000), (.microseconds(499), 0),
      (.microseconds(500), 1), (.microseconds(-1_499), -1), (.microseconds(-1_500), -2),
      (.milliseconds(Int64.max), .max), (.milliseconds(Int64.min), .min),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ] as [(Duration, Int64)])
  func `milliseconds are rounded to nearest and clamped`(duration: Duration, milliseconds: Int64) {
    #expect(duration.milliseconds == milliseconds)
  }

  @Test(
    arguments: [
      (.zero, 0), (.nanoseconds(1), 1), (.seconds(1), 1), (.milliseconds(1_001), 2),
      (.milliseconds(-999), 0), (.milliseconds(-1_001), -1), (.seconds(Int64.max), .max),
      (.seconds(Int64.max) + .nanoseconds(1), .max), (.seconds(Int64.min), .min),
    ] as [(Duration, Int64)])
  func `seconds are rounded up and clamped`(duration: Duration, seconds: Int64) {
    #expect(duration.secondsRoundedUp == seconds)
  }

  struct Times: Hashable, Fielded {
    let limit: Duration
    let rest: Duration?

    init(limit: Duration, rest: Duration?) {
      (self.limit, self.rest) = (limit, rest)
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      limit = try f.field("limit", value?.limit)
      rest = try f.optional("rest", value?.rest)
    }
  }

  @Test(arguments: [
    (Times(limit: .seconds(10), rest: nil), #"{"limit":10000}"#),
    (Times(limit: .zero, rest: .milliseconds(-1)), #"{"limit":0,"rest":-1}"#),
  ])
  func `a duration is an integer in JSON, or absent`(times: Times, json: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(times), as: UTF8.self) == json)
    #expect(try JSONDecoder().decode(Times.self, from: Data(json.utf8)) == times)
  }

  @Test func `null is no duration, but 0 is one`() throws {
    func rest(_ json: String) throws -> Duration? {
      try JSONDecoder().decode(Times.self, from: Data(json.utf8)).rest
    }
    #expect(try rest(#"{"limit":1,"rest":null}"#) == nil)
    #expect(try rest(#"{"limit":1,"rest":0}"#) == .zero)
    #expect(throws: DecodingError.self) { try rest(#"{"rest":0}"#) }
    #expect(throws: DecodingError.self) { try rest(#"{"limit":0.5}"#) }
  }
}

@Suite struct CivilDateTests {
  @Test(
    arguments: [
      (1970, 1, 1, 0), (1969, 12, 31, -1), (1970, 3, 1, 59), (2000, 2, 29, 11_016),
      (2000, 3, 1, 11_017), (2023, 11, 14, 19_675), (1600, 3, 1, -135_080), (0, 3, 1, -719_468),
      (9999, 12, 31, 2_932_896),
    ] as [(Int64, Int64, Int64, Int64)])
  func `days are counted from 1970`(year: Int64, month: Int64, day: Int64, number: Int64) throws {
    #expect(try #require(CivilDate(year: year, month: month, day: day)).daysSince1970 == number)
    let same = CivilDate(daysSince1970: number)
    #expect((same.year, same.month, same.day) == (year, month, day))
  }

  @Test(
    arguments: [
      (2023, 2, 29), (1900, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 0, 1), (2024, 13, 1),
      (2024, 1, 0), (2024, 1, 32),
    ] as [(Int64, Int64, Int64)])
  func `a day that does not exist is refused`(year: Int64, month: Int64, day: Int64) {
    #expect(CivilDate(year: year, month: month, day: day) == nil)
  }

  /// Against a calendar that knows only how long months are.
  @Test(arguments: [0, 1600, 9600])
  func `consecutive dates are one day apart in all leap years`(firstYear: Int64) throws {
    var expected = try #require(CivilDate(year: firstYear, month: 1, day: 1)).daysSince1970
    #expect((expected + 719_528).isMultiple(of: 146_097), "whole periods of 400 years from year 0")
    for year in firstYear..<firstYear + 400 {
      let isLeapYear = year % (year % 100 == 0 ? 400 : 4) == 0
      for month in Int64(1)...12 {
        let length: Int64 =
          month == 2 ? (isLeapYear ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        for day in 1...length {
          guard CivilDate(year: year, month: month, day: day)?.daysSince1970 == expected else {
            Issue.record("\(year)-\(month)-\(day) is not day \(expected)")
            return
          }
          expected += 1
        }
        #expect(CivilDate(year: year, month: month, day: length + 1) == nil)
      }
    }
  }
}

/// Dates of HTTP (RFC 9110 section 5.6.7).
@Suite(.timeLimit(.minutes(20))) struct HTTPDateTests {
  /// 2026-11-21T12:00:00Z.
  private static let now = WallTime(rawValue: 1_795_262_400_000)
  /// The example of the RFC.
  private static let example: Int64 = 784_111_777_000

  private func moment(_ text: String) -> Int64? {
    HTTPDate(text, now: Self.now)?.moment.rawValue
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "sun, 06 nov 1994 08:49:37 gmt", "SUNDAY, 06-NOV-94 08:49:37 GMT",
  ])
  func `RFC 9110 5.6.7: each of the three forms is read, in either case`(text: String) {
    #expect(moment(text) == Self.example)
  }

  @Test(arguments: [
    ("Sunday, 06-Nov-76 08:49:37 GMT", "Fri, 06 Nov 2076 08:49:37 GMT"),
    ("Sunday, 06-Nov-77 08:49:37 GMT", "Sun, 06 Nov 1977 08:49:37 GMT"),
    ("Sunday, 06-Nov-26 08:49:37 GMT", "Fri, 06 Nov 2026 08:49:37 GMT"),
    ("Sunday, 06-Nov-00 08:49:37 GMT", "Mon, 06 Nov 2000 08:49:37 GMT"),
  ])
  func `RFC 9110 5.6.7: two digits of a year are at most 50 years ahead`(
    text: String, same: String
  ) {
    #expect(moment(text) != nil)
    #expect(moment(text) == moment(same))
  }

  @Test(arguments: [
    "", "0", "-1", "never", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nom 1994 08:49:37 GMT",
    "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994 GMT",
    "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
  ])
  func `RFC 9111 4.2: another form, or another zone, is no date`(text: String) {
    #expect(moment(text) == nil)
  }

  @Test func `RFC 9110 5.6.7: a leap second is the first of the next minute`() {
    #expect(moment("Sat, 31 Dec 2016 23:59:60 GMT") == moment("Sun, 01 Jan 2017 00:00:00 GMT"))
  }

  @Test(arguments: [
    (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (1_709_164_800_000, "Thu, 29 Feb 2024 00:00:00 GMT"),
    (253_402_300_799_000, "Fri, 31 Dec 9999 23:59:59 GMT"),
  ])
  func `RFC 9110 5.6.7: the form with a fixed length is written`(moment: Int64, text: String) {
    #expect(HTTPDate(WallTime(rawValue: moment)).text == text)
    #expect(self.moment(text) == HTTPDate(WallTime(rawValue: moment)).moment.rawValue)
  }
}

/// The union of what several requests ask for.
@Suite struct RetentionTests {
  private let date = WallTime(rawValue: 1_800_000_000_000)

  private func expiry(
    _ retention: Retention, storedAt: WallTime = WallTime(rawValue: 1_000)
  ) -> Int64 {
    retention.expiresAt(storedAt: storedAt).rawValue
  }

  @Test func `a duration starts at the download, a date does not`() {
    #expect(expiry(Retention(after: .milliseconds(500))) == 1_500)
    #expect(expiry(Retention(until: date)) == date.rawValue)
    #expect(expiry(Retention(after: .milliseconds(500), until: date)) == date.rawValue)
    let late = date.advanced(by: .milliseconds(1))
    #expect(
      expiry(Retention(after: .milliseconds(500), until: date), storedAt: late) == 500
        + late.rawValue)
    #expect(expiry(Retention(until: date), storedAt: late) == date.rawValue, "a date in the past")
    #expect(expiry(Retention()) == 1_000)
  }

  @Test func `the longest retention of each kind wins in any order`() {
    let retentions = [
      Retention(after: .milliseconds(5)), Retention(until: date),
      Retention(sliding: .milliseconds(7)),
      Retention(after: .milliseconds(9), sliding: .milliseconds(3)),
      Retention(until: date.advanced(by: .milliseconds(-1))), Retention(),
    ]
    let all = Retention(after: .milliseconds(9), until: date, sliding: .milliseconds(7))
    for order in [retentions, retentions.reversed()] {
      #expect(order.reduce(into: Retention()) { $0.formUnion($1) } == all)
    }
    #expect(retentions.allSatisfy { all.covers($0) })
    #expect(retentions.allSatisfy { !$0.covers(all) })
  }

  @Test func `the default applies to new thumbnails and not to stored ones`() {
    let standard = Expiry.standard
    #expect(
      standard.retention(defaultExpiry: .milliseconds(5)) == Retention(after: .milliseconds(5)))
    #expect(standard.retentionOfStored(defaultExpiry: .milliseconds(5)) == Retention())
    let sliding = Expiry(.standard, isSliding: true)
    #expect(
      sliding.retention(defaultExpiry: .milliseconds(5))
        == Retention(after: .milliseconds(5), sliding: .milliseconds(5)))
    #expect(
      sliding.retentionOfStored(defaultExpiry: .milliseconds(5))
        == Retention(sliding: .milliseconds(5)))
    for named in [
      Expiry(.after(.milliseconds(8))), Expiry(.after(.milliseconds(8)), isSliding: true),
      Expiry(.at(date)),
    ] {
      #expect(
        named.retention(defaultExpiry: .milliseconds(5))
          == named.retentionOfStored(defaultExpiry: .milliseconds(6)))
    }
  }
}
