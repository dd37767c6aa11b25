import TestPictures

extension Raster {
  /// The mean squared error at a peak signal-to-noise ratio of 40 dB: 255² / 10⁴.
  static let fortyDecibels = 6.5

  /// The mean squared error over the three colours of all pixels, or of those in the first rows.
  func meanSquaredError(against other: Raster, rows: Int? = nil) -> Double {
    guard (width, height) == (other.width, other.height) else { return 255 * 255 }
    let pixelCount = width * (rows ?? height)
    var sum = 0
    for index in 0..<pixelCount * 4 where index % 4 != 3 {
      let difference = Int(bytes[index]) - Int(other.bytes[index])
      sum += difference * difference
    }
    return Double(sum) / Double(pixelCount * 3)
  }
}
