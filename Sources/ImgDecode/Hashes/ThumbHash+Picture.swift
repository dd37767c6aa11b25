import Glibc
package import ImgModel

/// The bytes are those of the reference implementation, and so every sum here has the order of the terms
/// that it has there.
extension ThumbHash {
  package init(of picture: SmallPicture) {
    guard let hash = ThumbHash(bytes: Self.bytes(of: picture)) else {
      preconditionFailure("what is computed here has the form of a ThumbHash")
    }
    self = hash
  }

  private static func bytes(of picture: SmallPicture) -> [UInt8] {
    let planes = Planes(picture)
    let (width, height) = (picture.width, picture.height)
    // Fewer frequencies of luminance leave room for those of transparency.
    let limit = Double(planes.hasAlpha ? 5 : 7)
    let longest = Double(max(width, height))
    let columns = max(1, rounded(limit * Double(width) / longest))
    let rows = max(1, rounded(limit * Double(height) / longest))
    let transform = { (plane: [Double], columns: Int, rows: Int) in
      Frequencies(of: plane, width: width, height: height, columns: columns, rows: rows)
    }
    let luminance = transform(planes.luminance, max(3, columns), max(3, rows))
    let yellowBlue = transform(planes.yellowBlue, 3, 3)
    let redGreen = transform(planes.redGreen, 3, 3)
    let alpha = planes.hasAlpha ? transform(planes.alpha, 5, 5) : nil

    let isLandscape = width > height
    var header = rounded(63 * luminance.average)
    header |= rounded(31.5 + 31.5 * yellowBlue.average) << 6
    header |= rounded(31.5 + 31.5 * redGreen.average) << 12
    header |= rounded(31 * luminance.scale) << 18 | (alpha == nil ? 0 : 1) << 23
    var shape = isLandscape ? rows : columns
    shape |= rounded(63 * yellowBlue.scale) << 3 | rounded(63 * redGreen.scale) << 9
    shape |= (isLandscape ? 1 : 0) << 15
    var bytes = [header, header >> 8, header >> 16, shape, shape >> 8]
      .map { UInt8(truncatingIfNeeded: $0) }
    if let alpha {
      bytes.append(
        UInt8(truncatingIfNeeded: rounded(15 * alpha.average) | rounded(15 * alpha.scale) << 4))
    }
    let nibbles = [luminance, yellowBlue, redGreen, alpha].compactMap { $0 }
      .flatMap(\.details).map { UInt8(truncatingIfNeeded: rounded(15 * $0)) }
    for start in stride(from: 0, to: nibbles.count, by: 2) {
      bytes.append(nibbles[start] | (start + 1 < nibbles.count ? nibbles[start + 1] << 4 : 0))
    }
    return bytes
  }

  /// As ECMAScript rounds: halves go up.
  private static func rounded(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }

  /// The picture on its average colour.
  private struct Planes {
    var luminance: [Double]
    var yellowBlue: [Double]
    var redGreen: [Double]
    var alpha: [Double]
    let hasAlpha: Bool

    init(_ picture: SmallPicture) {
      let count = picture.pixelCount
      var (red, green, blue, sum) = (0.0, 0.0, 0.0, 0.0)
      for pixel in 0..<count {
        let alpha = picture.sample(pixel, 3) / 255
        red += alpha / 255 * picture.sample(pixel, 0)
        green += alpha / 255 * picture.sample(pixel, 1)
        blue += alpha / 255 * picture.sample(pixel, 2)
        sum += alpha
      }
      if sum > 0 { (red, green, blue) = (red / sum, green / sum, blue / sum) }
      hasAlpha = sum < Double(count)
      luminance = [Double](repeating: 0, count: count)
      (yellowBlue, redGreen, alpha) = (luminance, luminance, luminance)
      for pixel in 0..<count {
        let alpha = picture.sample(pixel, 3) / 255
        let r = red * (1 - alpha) + alpha / 255 * picture.sample(pixel, 0)
        let g = green * (1 - alpha) + alpha / 255 * picture.sample(pixel, 1)
        let b = blue * (1 - alpha) + alpha / 255 * picture.sample(pixel, 2)
        luminance[pixel] = (r + g + b) / 3
        yellowBlue[pixel] = (r + g) / 2 - b
        redGreen[pixel] = r - g
        self.alpha[pixel] = alpha
      }
    }
  }

  /// The lowest frequencies of a discrete cosine transform: those in the triangle below a diagonal.
  private struct Frequencies {
    var average = 0.0
    /// The greatest of the others.
    var scale = 0.0
    /// The others, from 0 to 1.
    var details: [Double] = []

    init(of plane: [Double], width: Int, height: Int, columns: Int, rows: Int) {
      let across = (0..<columns).map { Self.cosines(of: $0, sampleCount: width) }
      let down = (0..<rows).map { Self.cosines(of: $0, sampleCount: height) }
      for row in 0..<rows {
        for column in 0..<columns where column * rows < columns * (rows - row) {
          let value = Self.frequency(across[column], down[row], of: plane)
          if column > 0 || row > 0 {
            details.append(value)
            scale = max(scale, abs(value))
          } else {
            average = value
          }
        }
      }
      guard scale > 0 else { return }
      details = details.map { 0.5 + 0.5 / scale * $0 }
    }

    private static func cosines(of frequency: Int, sampleCount: Int) -> [Double] {
      (0..<sampleCount).map {
        cos(Double.pi / Double(sampleCount) * Double(frequency) * (Double($0) + 0.5))
      }
    }

    private static func frequency(
      _ across: [Double], _ down: [Double], of plane: [Double]
    ) -> Double {
      var sum = 0.0
      var index = 0
      for vertical in down {
        for horizontal in across {
          sum += plane[index] * horizontal * vertical
          index += 1
        }
      }
      return sum / Double(plane.count)
    }
  }
}
