import Testing

@testable import ImgCoordinator

@Suite struct IntervalTimerTests {
  private let start = ContinuousClock.now

  /// At which of the times, counted from the start, the timer fires.
  private func firings(
    of timer: inout IntervalTimer, at seconds: [Int]
  ) -> [Int] {
    seconds.filter { timer.fires(at: start + .seconds($0)) }
  }

  @Test func `it fires at once, then once an interval`() {
    var timer = IntervalTimer(every: .seconds(2), from: start)
    #expect(firings(of: &timer, at: [0, 0, 1]) == [0])
    #expect(timer.deadline == start + .seconds(2))
    #expect(firings(of: &timer, at: [2, 3, 4]) == [2, 4])
  }

  @Test func `after a pause of the loop it fires once, not once for each interval missed`() {
    var timer = IntervalTimer(every: .seconds(2), from: start)
    #expect(firings(of: &timer, at: [9, 10]) == [9])
    #expect(timer.deadline == start + .seconds(11))
  }
}
