@_spi(Containers) import ImgModel
import SeededRandom
import Testing

struct LeastRecentlyUsedTests {
  @Test func `the values that were not used for longest leave first`() {
    var values = LeastRecentlyUsed<String, Int>()
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
      values.insert(value, as: name, cost: 10)
    }
    #expect(values.use("a") == 1)
    values.trim(toCost: 20)
    #expect(values.value(of: "b") == nil)
    #expect(values.value(of: "a") == 1)
    #expect(values.value(of: "c") == 3)
    #expect(values.cost == 20)
    values.trim(toCost: 19)
    #expect(values.value(of: "c") == nil, "a look does not count as use")
    #expect(values.count == 1)
  }

  @Test(arguments: 0..<20)
  func `random operations leave what a plain list has`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var values = LeastRecentlyUsed<Int, Int>()
    /// Keys and costs, the one that was used last at the end.
    var model: [(key: Int, cost: Int)] = []
    for step in 0..<2_000 {
      let key = Int.random(in: 0..<40, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let cost = Int.random(in: 1...20, using: &random)
        values.insert(step, as: key, cost: cost)
        model.removeAll { $0.key == key }
        model.append((key, cost))
      case 4..<8:
        let isThere = values.use(key) != nil
        let index = model.firstIndex { $0.key == key }
        #expect(isThere == (index != nil))
        if let index { model.append(model.remove(at: index)) }
      case 8:
        values.remove(key)
        model.removeAll { $0.key == key }
      default:
        let limit = Int.random(in: 0...300, using: &random)
        values.trim(toCost: limit)
        while model.reduce(0, { $0 + $1.cost }) > limit { model.removeFirst() }
      }
      #expect(values.cost == model.reduce(0) { $0 + $1.cost })
      #expect(values.count == model.count)
      #expect(model.allSatisfy { values.value(of: $0.key) != nil })
    }
  }
}
