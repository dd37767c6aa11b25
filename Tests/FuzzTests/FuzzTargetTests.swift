import SeededRandom

#if !FUZZING
  import Testing

  @Suite("Parsers of bytes from outside", .timeLimit(.minutes(20)))
  struct FuzzTargetTests {
    @Test("A parser takes its seeds and damaged copies of them", arguments: FuzzTarget.all)
    func damagedCopies(of target: FuzzTarget) {
      var random = SeededGenerator(seed: 1)
      for seed in target.seeds {
        target.run(seed)
        for _ in 0..<300 { target.run(damaged(seed, &random)) }
      }
    }

    @Test("Names of parsers are unique, because a fuzzing run is asked for by name")
    func names() {
      #expect(Set(FuzzTarget.all.map(\.name)).count == FuzzTarget.all.count)
    }

    /// Some bytes changed, added or removed.
    private func damaged(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
      var copy = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0...copy.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where index < copy.count: copy.remove(at: index)
        case 1: copy.insert(.random(in: 0...255, using: &random), at: index)
        case 2: copy.removeLast(min(copy.count, Int.random(in: 0...8, using: &random)))
        default: if index < copy.count { copy[index] = .random(in: 0...255, using: &random) }
        }
      }
      return copy
    }
  }
#endif
