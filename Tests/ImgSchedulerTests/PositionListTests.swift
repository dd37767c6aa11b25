import SeededRandom
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Positions as ranges, against a plain set.
@Suite struct PositionListTests {
  @Test func `neighbours are one range`() {
    var list = PositionList()
    for position in [5, 7, 6, 1, 0, 9] { list.insert(position) }
    #expect(list.rangeCount == 3)
    #expect(list.first == 0)
    #expect([0, 1, 5, 6, 7, 9].allSatisfy(list.contains))
    #expect(![2, 4, 8, 10].contains(where: list.contains))
  }

  @Test func `a prefix holds as many positions as wanted, or all`() {
    var list = PositionList()
    for position in [10, 11, 12, 20, 21, 5_000] { list.insert(position) }
    #expect(list.prefix(2) == [10..<12])
    #expect(list.prefix(4) == [10..<13, 20..<21])
    #expect(list.prefix(9) == [10..<13, 20..<22, 5_000..<5_001])
    #expect(PositionList().prefix(1).isEmpty)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `whatever is inserted and removed, it holds what a set holds`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var list = PositionList()
    var set: Set<Int> = []
    for _ in 0..<2_000 {
      if Int.random(in: 0..<10, using: &random) > 0 {
        let position = Int.random(in: 0..<500, using: &random)
        if set.insert(position).inserted { list.insert(position) }
      } else {
        let start = Int.random(in: 0..<500, using: &random)
        let removed = start..<start + Int.random(in: 0..<60, using: &random)
        list.remove(removed)
        set.subtract(removed)
      }
      #expect(list.first == set.min())
    }
    #expect((0..<600).filter(list.contains) == set.sorted())
    let gaps = zip(set.sorted(), set.sorted().dropFirst()).count { $1 > $0 + 1 }
    #expect(list.rangeCount == (set.isEmpty ? 0 : gaps + 1))
  }
}
