import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct LoopTurnsTests {
  @Test func `a transfer has a part of each turn, whatever the others take`() {
    let turns = LoopTurns()
    for _ in 0..<LoopTurns.maximumCallCount {
      #expect(turns.permitsCall(of: 1, byteCount: 16_384))
    }
    #expect(!turns.permitsCall(of: 1, byteCount: 16_384))
    #expect(turns.permitsCall(of: 2, byteCount: 16_384))
    _ = turns.begin()
    #expect(turns.permitsCall(of: 1, byteCount: 16_384))
  }

  @Test func `transfers that wait continue in the next turn, the oldest first`() {
    let turns = LoopTurns()
    for id in [9, 3, 5] as [UInt64] { _ = turns.wait(id) }
    turns.end(5)
    #expect(turns.isAnyWaiting)
    #expect(turns.begin() == [3, 9])
    #expect(!turns.isAnyWaiting)
    #expect(turns.begin().isEmpty)
  }

  @Test(arguments: [(64, 0, false), (33, 31, false), (32, 32, true), (0, 64, true), (0, 0, true)])
  func `a turn is wasted on small calls by half, or without any call`(
    large: Int, small: Int, isWasted: Bool
  ) {
    let turns = LoopTurns()
    for _ in 0..<large { _ = turns.permitsCall(of: 1, byteCount: 16) }
    for _ in 0..<small { _ = turns.permitsCall(of: 1, byteCount: 15) }
    #expect(turns.wait(1) == isWasted)
  }
}
