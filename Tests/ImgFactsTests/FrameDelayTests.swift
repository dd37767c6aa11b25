import Testing

@testable import ImgFacts

/// Delays in whole units.
struct FrameDelayTests {
  @Test(arguments: [(1, [42, 41, 42, 42, 42, 41]), (10, [40, 40, 50, 40, 40, 40])])
  func `what one delay loses, the next one gains`(unit: Int, rounded: [Int]) {
    // Films at 24,000 frames in 1,001 seconds.
    let delays = [Double](repeating: 1_001_000 / 24_000, count: 6)
    #expect(FrameDelay.rounded(delays, toMultiplesOf: unit) == rounded)
  }

  @Test(arguments: [1, 10])
  func `all together last as long as before, to half a unit`(unit: Int) {
    let delays = (0..<95).map { 30 + Double($0 * 7_919 % 1_000) / 37 }
    let rounded = FrameDelay.rounded(delays, toMultiplesOf: unit)
    for count in 1...delays.count {
      let drift = Double(rounded[..<count].reduce(0, +)) - delays[..<count].reduce(0, +)
      #expect(abs(drift) <= Double(unit) / 2)
    }
  }

  @Test(arguments: [(1, 11), (10, 20)])
  func `no delay becomes so short that it is ignored`(unit: Int, shortest: Int) {
    let rounded = FrameDelay.rounded([10.4, 10.4, 10.4], toMultiplesOf: unit)
    #expect(rounded == [shortest, shortest, shortest])
    #expect(FrameDelay.played(shortest) == shortest)
  }

  @Test func `what short delays have gained, a longer one loses`() {
    #expect(FrameDelay.rounded([11, 11, 100], toMultiplesOf: 10) == [20, 20, 80])
  }

  @Test func `no delay becomes longer than when it is rounded up by itself`() {
    let longest = Double(Int32.max)
    #expect(
      FrameDelay.rounded([33.499_999_99, longest], toMultiplesOf: 1) == [33, Int(Int32.max)])
  }

  @Test func `a delay that is ignored stays one, and changes no other`() {
    #expect(FrameDelay.rounded([33.4, 9.6, 33.4, 0], toMultiplesOf: 1) == [33, 10, 34, 0])
  }
}
