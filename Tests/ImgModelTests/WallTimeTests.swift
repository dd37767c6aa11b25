import ImgModel
import Testing

@Suite struct WallTimeTests {
  @Test func `a moment prints as RFC 3339`() {
    #expect(WallTime(rawValue: 1_700_000_000_123).description == "2023-11-14T22:13:20.123Z")
  }

  @Test func `sums are clamped to the range`() {
    #expect(WallTime(rawValue: .max).advanced(byMilliseconds: 1) == WallTime(rawValue: .max))
    #expect(WallTime(rawValue: .min).advanced(byMilliseconds: -1) == WallTime(rawValue: .min))
  }
}
