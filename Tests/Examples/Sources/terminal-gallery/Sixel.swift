import ImgClient

/// Pixels as sixels: columns of six pixels, one colour after the other, in a palette of 6 × 6 × 6 colours.
enum Sixel {
  private static let bandHeight = 6
  private static let levelCount = 6
  /// What is added before a sample is rounded, in parts of a level: the eye mixes neighbours to the colours
  /// between those of the palette.
  private static let thresholds = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]

  static func text(of pixels: ImagePixels) -> String {
    let bands = stride(from: 0, to: pixels.height, by: bandHeight).map { band(y: $0, of: pixels) }
    // The second 1 leaves pixels without a colour as they are.
    return "\u{1B}P0;1;0q\"1;1;\(pixels.width);\(pixels.height)" + palette
      + bands.joined(separator: "-") + "\u{1B}\\"
  }

  /// In percent.
  private static var palette: String {
    (0..<levelCount * levelCount * levelCount).map { number in
      let levels = [number / 36, number / 6 % 6, number % 6].map { "\($0 * 20)" }
      return "#\(number);2;" + levels.joined(separator: ";")
    }.joined()
  }

  private static func band(y: Int, of pixels: ImagePixels) -> String {
    var columns: [Int: [UInt8]] = [:]
    for row in y..<min(y + bandHeight, pixels.height) {
      for x in 0..<pixels.width {
        guard let colour = colour(of: pixels[x, row], x, row) else { continue }
        columns[colour, default: [UInt8](repeating: 0, count: pixels.width)][x] |= 1 << (row - y)
      }
    }
    return columns.sorted { $0.key < $1.key }
      .map { "#\($0.key)" + runs(of: $0.value) }.joined(separator: "$")
  }

  private static func colour(of pixel: ImagePixels.Pixel, _ x: Int, _ y: Int) -> Int? {
    guard pixel.alpha >= 128 else { return nil }
    let threshold = thresholds[y % 4 * 4 + x % 4]
    return [pixel.red, pixel.green, pixel.blue].reduce(0) { number, sample in
      number * levelCount + (Int(sample) * (levelCount - 1) * 16 / 255 + threshold) / 16
    }
  }

  /// Equal neighbours are counted.
  private static func runs(of columns: [UInt8]) -> String {
    var text = ""
    var rest = columns[...]
    while let first = rest.first {
      let count = rest.prefix { $0 == first }.count
      rest = rest.dropFirst(count)
      let character = String(UnicodeScalar(first + 63))
      text += count > 3 ? "!\(count)\(character)" : String(repeating: character, count: count)
    }
    return text
  }
}
