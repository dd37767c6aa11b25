import Testing

@testable import ImgClient

struct SilenceWatchTests {
  private let start = ContinuousClock.now

  @Test func `a coordinator that says nothing is asked once, and then given up`() {
    var watch = SilenceWatch(at: start, patience: .seconds(30))
    #expect(watch.look(at: start + .seconds(29)) == .nothing)
    #expect(watch.deadline == start + .seconds(30))
    #expect(watch.look(at: start + .seconds(30)) == .isSilent)
    #expect(watch.look(at: start + .seconds(31)) == .nothing)
    #expect(watch.deadline == start + .seconds(60))
    #expect(watch.look(at: start + .seconds(60)) == .isLost)
  }

  @Test func `a word begins the time from the start`() {
    var watch = SilenceWatch(at: start, patience: .seconds(30))
    _ = watch.look(at: start + .seconds(30))
    watch.heard(at: start + .seconds(31))
    #expect(watch.look(at: start + .seconds(60)) == .nothing)
    #expect(watch.look(at: start + .seconds(61)) == .isSilent)
  }
}
