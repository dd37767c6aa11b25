import Glibc
import ImgModel
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
