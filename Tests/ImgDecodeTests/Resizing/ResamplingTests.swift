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

  @Test func `the last sample may reach beyond an odd side`() throws {
    // 7 pixels are 4 samples of chroma, and 7 samples of a thumbnail of 7 pixels.
    let chroma = SampledSide(length: 7, sampleCount: 4, pixelsPerSample: 2)
    let resampling = try #require(Resampling(from: chroma, to: .pixels(7)))
    // Pixel 3 lies between the samples 1 and 2, as near to one as to the other would be at 3.5.
    let middle = weights(of: 3, in: resampling)
    #expect(try #require(middle[1]) > #require(middle[2]))
    // The samples lie at the same places whether the side is odd or even.
    let even = try #require(
      Resampling(
        from: SampledSide(length: 8, sampleCount: 4, pixelsPerSample: 2), to: .pixels(8)))
    #expect(weights(of: 3, in: even) == middle)
  }

  @Test func `a part has the weights that the whole has there`() throws {
    let whole = try #require(Resampling(from: .pixels(300), to: .pixels(100)))
    let part = try #require(
      Resampling(
        from: .pixels(300), to: SampledSide(length: 100, start: 37, sampleCount: 10)))
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
