import ImgModel
import Testing

@Suite struct WallTimeTests {
  @Test func `a moment prints as RFC 3339`() {
    #expect(WallTime(rawValue: 1_700_000_000_123).description == "2023-11-14T22:13:20.123Z")
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
