/// The pixels of a picture that is small enough to be summed up in a few bytes.
package struct SmallPicture: Sendable {
  /// More pixels take longer, and change nothing that a placeholder shows.
  package static let maximumSide = 100

  package let width: Int
  package let height: Int
  /// Red, green, blue and alpha of each pixel, row by row, in sRGB and not multiplied by alpha.
  let samples: [UInt8]

  /// - Returns: `nil` unless both sides are 1…``maximumSide`` and each pixel has four samples.
  package init?(width: Int, height: Int, samples: [UInt8]) {
    let sides = 1...Self.maximumSide
    guard sides.contains(width), sides.contains(height), samples.count == width * height * 4 else {
      return nil
    }
    (self.width, self.height, self.samples) = (width, height, samples)
  }

  var pixelCount: Int { width * height }

  /// A sample of a pixel: 0 is red, 3 is alpha.
  func sample(_ pixel: Int, _ channel: Int) -> Double { Double(samples[pixel * 4 + channel]) }
}
