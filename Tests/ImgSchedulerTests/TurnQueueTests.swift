import ImgScheduler
import Testing

/// Turns go round.
@Suite struct TurnQueueTests {
  @Test func `each member has one turn before any has a second`() {
    var turns = TurnQueue<Int>()
    for member in [1, 1, 1, 2, 1, 3, 2] { turns.append(member) }
    var served: [Int] = []
    for _ in 0..<6 {
      guard let member = turns.removeFirst() else { break }
      served.append(member)
      turns.append(member)
    }
    #expect(served == [1, 2, 3, 1, 2, 3])
  }

  @Test func `a queue without members has no turn`() {
    var turns = TurnQueue<Int>()
    #expect(turns.isEmpty)
    turns.append(1)
    #expect(!turns.isEmpty)
    #expect(turns.removeFirst() == 1)
    #expect(turns.removeFirst() == nil)
    #expect(turns.isEmpty)
  }
}
