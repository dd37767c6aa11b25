import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct TurnShareTests {
  @Test func `a transfer has a part of each turn`() {
    let turns = LoopTurns()
    let share = TurnShare(of: 1, in: turns)
    for _ in 0..<LoopTurns.maximumCallCount { #expect(share.permitCall(byteCount: 100)) }
    #expect(!share.permitCall(byteCount: 100))
    _ = turns.begin()
    #expect(share.permitCall(byteCount: 100))
  }

  @Test func `a transfer ends after 128 wasted turns, and useful turns do not count`() {
    let turns = LoopTurns()
    var share = TurnShare(of: 1, in: turns)
    for turn in 0..<2 * TurnShare.maximumWastedCount {
      _ = share.permitCall(byteCount: turn.isMultiple(of: 2) ? 100 : 1)
      let isPaused = share.awaitNext()
      #expect(isPaused)
      #expect(turns.begin() == [1])
    }
    let isPaused = share.awaitNext()
    #expect(!isPaused)
  }
}
