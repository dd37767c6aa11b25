import Testing

@testable import ImgDecode

struct ReductionTests {
  @Test(arguments: [(512, 256), (511, 256), (257, 256), (7, 2), (8, 1), (1, 1), (1_000, 251)])
  func `the weights of each sample sum up to one, inside the source`(
    source: Int, result: Int
  ) throws {
    let reduction = try #require(Reduction(from: source, to: result))
    #expect(reduction.starts.count == result)
    #expect(reduction.weights.count == result * reduction.tapCount)
    for index in 0..<result {
      let start = Int(reduction.starts[index])
      #expect(start >= 0 && start + reduction.tapCount <= source)
      let weights = reduction.weights[index * reduction.tapCount..<(index + 1) * reduction.tapCount]
      #expect(weights.reduce(0) { $0 + Int($1) } == Reduction.one)
    }
  }

  @Test func `a side that does not change keeps each sample`() throws {
    let reduction = try #require(Reduction(from: 20, to: 20))
    for index in 0..<20 {
      let position = index - Int(reduction.starts[index])
      #expect(reduction.weights[index * reduction.tapCount + position] == Int16(Reduction.one))
    }
  }

  @Test func `a window is symmetric where no edge is near`() throws {
    let reduction = try #require(Reduction(from: 300, to: 100))
    let weights = Array(
      reduction.weights[50 * reduction.tapCount..<51 * reduction.tapCount])
    #expect(weights == weights.reversed())
  }

  @Test(arguments: [(100, 101), (100, 12)])
  func `growing and shrinking to less than an eighth is left to libvips`(
    source: Int, result: Int
  ) {
    #expect(Reduction(from: source, to: result) == nil)
  }
}
