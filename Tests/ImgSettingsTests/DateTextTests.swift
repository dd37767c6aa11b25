import ImgModel
import SeededRandom
import Testing

@testable import ImgSettings

/// Dates as people write them, and expiries.
@Suite(.timeLimit(.minutes(20))) struct DateTextTests {
  private static let day: Int64 = 86_400_000

  @Test(
    arguments: [
      ("1970-01-01", 0), ("1970-01-01T00:00:00Z", 0), ("2027-01-01", 1_798_761_600_000),
      ("2027-01-01T12:00:00Z", 1_798_804_800_000), ("2027-01-01t12:00:00z", 1_798_804_800_000),
      ("2027-01-01T12:00:00+02:00", 1_798_797_600_000),
      ("2027-01-01T12:00:00-05:30", 1_798_824_600_000),
      ("2027-01-01T12:00:00-00:00", 1_798_804_800_000),
      ("2027-01-01T12:00:00.5Z", 1_798_804_800_500),
      ("2027-01-01T12:00:00.0019999999Z", 1_798_804_800_001),
      ("2000-02-29", 951_782_400_000), ("2024-02-29", 1_709_164_800_000),
      ("1969-12-31T23:59:59.999Z", -1), ("0000-01-01", -62_167_219_200_000),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func `a date is read as RFC 3339 writes it`(text: String, milliseconds: Int64) throws {
    #expect(try WallTime(parsing: text).rawValue == milliseconds)
  }

  @Test(arguments: [
    "", "2027", "2027-01", "27-01-01", "2027-1-1", "2027-13-01", "2027-00-01", "2027-01-00",
    "2027-01-32", "2027-02-29", "2100-02-29", "2027-04-31", "2027/01/01", "2027-01-01T",
    "2027-01-01T12:00:00", "2027-01-01 12:00:00Z", "2027-01-01T12:00Z", "2027-01-01T24:00:00Z",
    "2027-01-01T12:60:00Z", "2027-01-01T12:00:60Z", "2027-01-01T12:00:00.Z",
    "2027-01-01T12:00:00,5Z", "2027-01-01T12:00:00+2:00", "2027-01-01T12:00:00+0200",
    "2027-01-01T12:00:00+24:00", "2027-01-01T12:00:00ZZ", "2027-01-01Z", " 2027-01-01",
    "2027-01-01 ", "+2027-01-01", "٢٠٢٧-01-01", "2027-01-01T12:00:00\u{2212}02:00",
  ])
  func `other texts than dates of RFC 3339 are refused`(text: String) {
    let error = #expect(throws: InvalidValue.self) { try WallTime(parsing: text) }
    #expect(error?.reason.contains("is not a date; write one such as 2027-01-01") == true)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `a date can be written and read with any offset`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let moment = WallTime(rawValue: .random(in: 0...253_402_300_799_999, using: &random))
      let text = moment.description
      #expect(try WallTime(parsing: text) == moment)
      #expect(try WallTime(parsing: text.lowercased()) == moment)
      let minutes = Int64.random(in: 0..<24 * 60, using: &random)
      let offset = [minutes / 60, minutes % 60].map { String($0 + 100).dropFirst() }
        .joined(separator: ":")
      let here = moment.advanced(by: .seconds(-minutes * 60))
      #expect(try WallTime(parsing: "\(text.dropLast())+\(offset)") == here)
    }
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

  @Test(
    arguments: [
      ("31556926s", .after(.seconds(31_556_926))),
      ("7d", .after(.seconds(604_800))),
      ("never", .after(.seconds(3_153_600_000))),
      ("2027-01-01", .at(WallTime(rawValue: 1_798_761_600_000))),
    ] as [(String, Expiry.Moment)])
  func `an expiry is a duration or a date`(text: String, moment: Expiry.Moment) throws {
    #expect(try Expiry.Moment(parsing: text) == moment)
  }

  @Test(arguments: [
    ("7w", "\"7w\" is not a duration"), ("0s", "\"0s\" is not from 1ms to 36500d"),
    ("36501d", "\"36501d\" is not from 1ms to 36500d"), ("-1s", "\"-1s\" is not a duration"),
    ("2027-02-30", "\"2027-02-30\" is not a date"), ("Never", "\"Never\" is not a duration"),
  ])
  func `an invalid expiry is refused as a duration or as a date`(text: String, reason: String) {
    let error = #expect(throws: InvalidValue.self) { try Expiry.Moment(parsing: text) }
    #expect(error?.reason.hasPrefix(reason) == true)
  }

  @Test func `an expiry date is in the future and at most a century ahead`() throws {
    let now = WallTime(rawValue: 1_798_761_600_000)
    let century = RequestOptions.expiryRange.upperBound
    func check(_ time: Duration) throws(InvalidValue) {
      try Expiry(.at(now.advanced(by: time))).check(at: now)
    }
    #expect(
      throws: InvalidValue("the expiry 2027-01-01T00:00:00.000Z is in the past")
    ) { try check(.zero) }
    try check(.milliseconds(1))
    try check(century)
    #expect(
      throws: InvalidValue(
        "the expiry 2126-12-08T00:00:00.001Z is more than a century ahead")
    ) { try check(century + .milliseconds(1)) }
    try Expiry.standard.check(at: now)
    try Expiry(.after(century)).check(at: now)
  }
}
