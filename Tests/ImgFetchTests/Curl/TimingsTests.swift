import ImgModel
import Testing

@testable import ImgFetch

/// What transfers took that follow one another.
@Suite(.timeLimit(.minutes(20))) struct TimingsTests {
  @Test func `parts add up, and a part that neither had stays away`() {
    var first = Timings()
    first.dns = .milliseconds(1)
    first.ttfb = .milliseconds(10)
    var second = Timings()
    second.ttfb = .milliseconds(20)
    second.download = .milliseconds(5)
    var sum = Timings()
    sum.dns = .milliseconds(1)
    sum.ttfb = .milliseconds(30)
    sum.download = .milliseconds(5)
    #expect(first.adding(second) == sum)
  }
}
