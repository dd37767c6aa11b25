import Glibc
import ImgModel

/// Draws the picture that a ThumbHash describes: sums of cosine waves in four planes, which are luminance, the
/// differences yellow to blue and red to green, and opacity.
struct ThumbHashDrawing {
  /// The waves of one plane, and their sum's constant part.
  private struct Plane {
    struct Wave {
      let column: Int
      let row: Int
      let strength: Double
    }

    var average = 0.0
    var waves: [Wave] = []

    /// The value at a place, as the sum of each wave's strength there.
    func value(_ horizontal: [Double], _ vertical: [Double]) -> Double {
      waves.reduce(average) { $0 + $1.strength * horizontal[$1.column] * vertical[$1.row] }
    }
  }

  /// Both sides have this many waves at most, with the constant one.
  private static let maximumWaveCount = 7
  /// The scale of the colour differences was enlarged by this before it was rounded.
  private static let differenceScale = 1.25

  private let luminance: Plane
  private let yellowBlue: Plane
  private let redGreen: Plane
  private let alpha: Plane
  /// The width of the picture divided by its height, about.
  let aspectRatio: Double

  init(_ hash: ThumbHash) {
    let bytes = hash.bytes.map(Int.init)
    let header = bytes[0] | bytes[1] << 8 | bytes[2] << 16
    let shape = bytes[3] | bytes[4] << 8
    let hasAlpha = header >> 23 != 0
    let longest = hasAlpha ? 5 : 7
    let shortest = shape & 7
    let isLandscape = shape >> 15 != 0
    let (columns, rows) = isLandscape ? (longest, shortest) : (shortest, longest)
    aspectRatio = Double(columns) / Double(rows)

    var nibbles = bytes[(hasAlpha ? 6 : 5)...].flatMap { [$0 & 15, $0 >> 4] }[...]
    luminance = Self.plane(
      average: Double(header & 63) / 63, scale: Double(header >> 18 & 31) / 31,
      columns: max(3, columns), rows: max(3, rows), &nibbles)
    yellowBlue = Self.plane(
      average: Double(header >> 6 & 63) / 31.5 - 1,
      scale: Double(shape >> 3 & 63) / 63 * Self.differenceScale, columns: 3, rows: 3, &nibbles)
    redGreen = Self.plane(
      average: Double(header >> 12 & 63) / 31.5 - 1,
      scale: Double(shape >> 9 & 63) / 63 * Self.differenceScale, columns: 3, rows: 3, &nibbles)
    alpha =
      hasAlpha
      ? Self.plane(
        average: Double(bytes[5] & 15) / 15, scale: Double(bytes[5] >> 4) / 15, columns: 5,
        rows: 5, &nibbles) : Plane(average: 1)
  }

  /// Takes the waves below a diagonal, row after row, but for the constant one.
  private static func plane(
    average: Double, scale: Double, columns: Int, rows: Int, _ nibbles: inout ArraySlice<Int>
  ) -> Plane {
    var plane = Plane(average: average)
    for row in 0..<rows {
      for column in 0..<columns where column * rows < columns * (rows - row) && row + column > 0 {
        // The form was checked, so that there are as many as are taken.
        let strength = (Double(nibbles.popFirst() ?? 0) / 7.5 - 1) * scale
        // A wave in one direction counts twice.
        plane.waves.append(.init(column: column, row: row, strength: 2 * strength))
      }
    }
    return plane
  }

  /// The colour that is left without the waves.
  var averageColour: ImageVariant.Colour {
    let pixel = Self.pixel(
      luminance.average, yellowBlue.average, redGreen.average, alpha: alpha.average)
    return ImageVariant.Colour(red: pixel[0], green: pixel[1], blue: pixel[2])
  }

  /// - Returns: `nil` if a side is not positive.
  func pixels(width: Int, height: Int) -> ImagePixels? {
    guard width > 0, height > 0 else { return nil }
    let columns = (0..<width).map { Self.cosines(at: $0, of: width) }
    var bytes: [UInt8] = []
    for y in 0..<height {
      let vertical = Self.cosines(at: y, of: height)
      for horizontal in columns {
        bytes += Self.pixel(
          luminance.value(horizontal, vertical), yellowBlue.value(horizontal, vertical),
          redGreen.value(horizontal, vertical), alpha: alpha.value(horizontal, vertical))
      }
    }
    return ImagePixels(width: width, height: height, bytes: bytes)
  }

  /// Each wave at the middle of a pixel.
  private static func cosines(at pixel: Int, of count: Int) -> [Double] {
    (0..<maximumWaveCount).map { wave in
      cos(.pi / Double(count) * (Double(pixel) + 0.5) * Double(wave))
    }
  }

  /// - Returns: the samples of a pixel.
  private static func pixel(
    _ luminance: Double, _ yellowBlue: Double, _ redGreen: Double, alpha: Double
  ) -> [UInt8] {
    let blue = luminance - 2.0 / 3 * yellowBlue
    let red = (3 * luminance - blue + redGreen) / 2
    let green = red - redGreen
    return [red, green, blue, alpha].map { UInt8((min(max($0, 0), 1) * 255).rounded()) }
  }
}
