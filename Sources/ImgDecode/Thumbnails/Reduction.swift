import Glibc

/// How the samples along one side of an image become fewer: the Lanczos kernel with three lobes, as
/// weights in whole numbers.
struct Reduction {
  /// The samples of the source that count for one of the result.
  let tapCount: Int
  /// For each sample of the result, the first of the source that counts.
  let starts: [Int32]
  /// For each sample of the result, `tapCount` weights with the sum ``one``.
  let weights: [Int16]

  static let one = 1 << 14

  private static let lobeCount = 3.0
  /// Beyond it, the weights are too small for whole numbers.
  private static let maximumFactor = 8.0

  /// - Returns: `nil` where the side grows or shrinks too much.
  init?(from source: Int, to result: Int) {
    let factor = Double(source) / Double(result)
    guard (1...Self.maximumFactor).contains(factor) else { return nil }
    tapCount = min(2 * Int((Self.lobeCount * factor).rounded(.up)) + 1, source)
    var starts: [Int32] = []
    var weights: [Int16] = []
    for index in 0..<result {
      // In both, a sample stands for the place in its middle.
      let centre = (Double(index) + 0.5) * factor - 0.5
      let first = Int(centre.rounded()) - Int((Self.lobeCount * factor).rounded(.up))
      let start = min(max(first, 0), source - tapCount)
      starts.append(Int32(start))
      weights += Self.weights(
        from: first, centre: centre, factor: factor, in: start..<start + tapCount)
    }
    self.starts = starts
    self.weights = weights
  }

  /// The weights of a window. The samples at the edge of the source count for those that would lie
  /// beyond it.
  private static func weights(
    from first: Int, centre: Double, factor: Double, in window: Range<Int>
  ) -> [Int16] {
    var shares = [Double](repeating: 0, count: window.count)
    for place in first...(first + 2 * Int((lobeCount * factor).rounded(.up))) {
      let nearest = min(max(place, window.lowerBound), window.upperBound - 1)
      shares[nearest - window.lowerBound] += lanczos((Double(place) - centre) / factor)
    }
    let sum = shares.reduce(0, +)
    var weights = shares.map { Int(($0 / sum * Double(one)).rounded()) }
    // The rest goes where it matters least, so that a plain area keeps its colour.
    let largest = weights.indices.max { weights[$0] < weights[$1] } ?? 0
    weights[largest] += one - weights.reduce(0, +)
    return weights.map(Int16.init)
  }

  private static func lanczos(_ x: Double) -> Double {
    guard x != 0 else { return 1 }
    guard abs(x) < lobeCount else { return 0 }
    return lobeCount * sin(.pi * x) * sin(.pi * x / lobeCount) / (.pi * .pi * x * x)
  }
}
