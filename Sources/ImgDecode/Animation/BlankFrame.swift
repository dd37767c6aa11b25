/// Frames that show nothing yet, such as a black one from which a film fades in.
enum BlankFrame {
  /// The standard deviation of samples of 8 bits below which pixels look alike: grain and the damage
  /// of a lossy code stay below it, and a thousandth of black pixels on white does not.
  private static let smallestSpread = 4.0

  /// Whether the pixels of a thumbnail look alike.
  ///
  /// - Parameters:
  ///   - samples: in 8-bit sRGB.
  ///   - bandCount: 3, or 4 with the opacity. A transparent pixel has no colour.
  static func isBlank(_ samples: Span<UInt8>, bandCount: Int) -> Bool {
    let hasAlpha = bandCount == 4
    var sums = [Double](repeating: 0, count: bandCount)
    var squares = sums
    for pixel in stride(from: 0, to: samples.count, by: bandCount) {
      let opacity = hasAlpha ? Double(samples[pixel + 3]) / 255 : 1
      for band in 0..<bandCount {
        let value = Double(samples[pixel + band]) * (band < 3 ? opacity : 1)
        sums[band] += value
        squares[band] += value * value
      }
    }
    let count = Double(samples.count / bandCount)
    return zip(sums, squares).allSatisfy { sum, square in
      square / count - (sum / count) * (sum / count) < smallestSpread * smallestSpread
    }
  }
}
