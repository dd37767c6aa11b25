import Testing

@testable import ImgDecode

/// When the frames of an animation are shown.
struct TimelineTests {
  private let timeline = Timeline(delays: [50, 200, 30], loopCount: 0)

  @Test(arguments: [(0, 0), (49, 0), (50, 1), (249, 1), (250, 2), (279, 2)])
  func `a frame is shown until its delay is over`(milliseconds: Int, frame: Int) {
    #expect(timeline.frame(at: milliseconds) == frame)
  }

  @Test(arguments: [280, 281, 86_400_000])
  func `after the end the last frame is shown`(milliseconds: Int) {
    #expect(timeline.frame(at: milliseconds) == 2)
  }

  @Test func `a delay of at most 10 ms is played as 100 ms`() {
    let timeline = Timeline(delays: [0, 10, 11, 20], loopCount: 1)
    #expect(timeline.delays == [100, 100, 11, 20])
    #expect(timeline.frame(at: 99) == 0 && timeline.frame(at: 100) == 1)
  }
}
