import ImgModel
import Testing

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
    #expect(
      moment("Sat, 31 Dec 2016 23:59:60 GMT") == moment("Sun, 01 Jan 2017 00:00:00 GMT"))
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
