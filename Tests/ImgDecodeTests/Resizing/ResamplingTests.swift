import Testing

@testable import ImgDecode

struct ResamplingTests {
  /// The weights of a sample of the result, by the place of the sample of the source.
  private func weights(of index: Int, in resampling: Resampling) -> [Int: Int] {
    let start = Int(resampling.starts[index])
    let first = index * resampling.weightStride
    return Dictionary(
      uniqueKeysWithValues: (0..<resampling.tapCount).map { tap in
        (start + tap, Int(resampling.weights[first + tap]))
      }.filter { $0.1 != 0 })
  }

  @Test(
    arguments: [
      (512, 256), (511, 256), (257, 256), (7, 2), (8, 1), (1, 1), (1_000, 251), (6_400, 100),
      (100, 400), (2, 5),
    ])
  func `the weights of each sample sum up to one, inside the source`(
    source: Int, result: Int
  ) throws {
    let resampling = try #require(Resampling(from: .pixels(source), to: .pixels(result)))
    #expect(resampling.starts.count == result)
    #expect(resampling.weights.count == result * resampling.weightStride)
    for index in 0..<result {
      let weights = weights(of: index, in: resampling)
      #expect(weights.keys.allSatisfy { (0..<source).contains($0) })
      #expect(weights.values.reduce(0, +) == Resampling.one)
      let unused = index * resampling.weightStride + resampling.tapCount
      #expect(
        resampling.weights[unused..<(index + 1) * resampling.weightStride].allSatisfy { $0 == 0 })
    }
  }

  @Test(arguments: [false, true])
  func `a side that does not change keeps each sample`(isReversed: Bool) throws {
    let resampling = try #require(
      Resampling(from: .pixels(20), to: .pixels(20), isReversed: isReversed))
    for index in 0..<20 {
      let place = isReversed ? 19 - index : index
      #expect(weights(of: index, in: resampling) == [place: Resampling.one])
    }
  }

  @Test func `a window is symmetric where no edge is near`() throws {
    let resampling = try #require(Resampling(from: .pixels(300), to: .pixels(100)))
    let weights = weights(of: 50, in: resampling)
    for (place, weight) in weights { #expect(weights[2 * 151 - place] == weight) }
  }

  @Test func `a reversed side has the samples in the opposite order`() throws {
    let forwards = try #require(Resampling(from: .pixels(300), to: .pixels(70)))
    let backwards = try #require(
      Resampling(from: .pixels(300), to: .pixels(70), isReversed: true))
    for index in 0..<70 {
      let expected = weights(of: 69 - index, in: forwards)
      let found = weights(of: index, in: backwards)
      for place in 0..<300 {
        // Places are computed from the other end, so that rounding may differ.
        #expect(abs(found[place, default: 0] - expected[place, default: 0]) <= 1)
      }
    }
  }

  @Test func `a sample that reaches beyond an odd side lies in the middle of what it shows`() {
    // 4 samples show 7 pixels. The last sample shows one pixel.
    let chroma = SampledSide(length: 7, sampleCount: 4, pixelsPerSample: 2)
    #expect((0..<4).map(chroma.place(of:)) == [1, 3, 5, 6.5])
    for index in 0..<4 { #expect(chroma.sample(at: chroma.place(of: index)) == Double(index)) }
    // Halfway between the last two.
    #expect(chroma.sample(at: 5.75) == 2.5)
  }

  @Test(arguments: [1, 2, 7, 8, 375])
  func `chroma of a picture that keeps its size keeps each sample`(length: Int) throws {
    let count = (length + 1) / 2
    let source = SampledSide(length: length, sampleCount: count, pixelsPerSample: 2)
    let result = SampledSide(length: length, showing: 0..<length, pixelsPerSample: 2)
    let resampling = try #require(Resampling(from: source, to: result))
    for index in 0..<count {
      #expect(weights(of: index, in: resampling) == [index: Resampling.one])
    }
  }

  @Test func `a part has the weights that the whole has there`() throws {
    let whole = try #require(Resampling(from: .pixels(300), to: .pixels(100)))
    let part = try #require(
      Resampling(
        from: .pixels(300), to: SampledSide(length: 100, showing: 37..<47)))
    for index in 0..<10 {
      #expect(weights(of: index, in: part) == weights(of: 37 + index, in: whole))
    }
  }

  @Test(arguments: [(100, 401), (6_500, 100)])
  func `growing to more than four times and shrinking to less than a 64th is left to libvips`(
    source: Int, result: Int
  ) {
    #expect(Resampling(from: .pixels(source), to: .pixels(result)) == nil)
  }
}
