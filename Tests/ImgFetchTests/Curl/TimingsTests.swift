import ImgModel
import Testing

@testable import ImgFetch

/// What transfers took that follow one another.
@Suite(.timeLimit(.minutes(20))) struct TimingsTests {
  @Test func `parts add up, and a part that neither had stays away`() {
    var first = Timings()
    first.dns = 1
    first.ttfb = 10
    var second = Timings()
    second.ttfb = 20
    second.download = 5
    var sum = Timings()
    sum.dns = 1
    sum.ttfb = 30
    sum.download = 5
    #expect(first.adding(second) == sum)
  }
}
