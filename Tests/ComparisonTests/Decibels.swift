import Glibc
import TestPictures

extension Raster {
  /// The peak signal-to-noise ratio of the colours, in decibels; 100 for the same pixels.
  ///
  /// - Parameter reference: red, green and blue of all pixels, row after row.
  func decibels(against reference: [UInt8]) -> Double {
    guard reference.count == width * height * 3 else { return 0 }
    var sum = 0
    for pixel in 0..<width * height {
      for channel in 0..<3 {
        let difference = Int(bytes[pixel * 4 + channel]) - Int(reference[pixel * 3 + channel])
        sum += difference * difference
      }
    }
    guard sum > 0 else { return 100 }
    let error = Double(sum) / Double(reference.count)
    return min(100, 10 * log10(255 * 255 / error))
  }
}
