import Glibc

/// The upper left corner of a rectangle, cut by a quarter of a circle.
struct RoundCorner {
  let radius: Int

  /// How much of a pixel is inside, from 0 to 1: by the distance of its middle from the circle, which
  /// differs from the area by less than the eye sees.
  func coverage(row: Int, column: Int) -> Double {
    let x = Double(radius) - Double(column) - 0.5
    let y = Double(radius) - Double(row) - 0.5
    let distance = (x * x + y * y).squareRoot()
    return min(max(Double(radius) - distance + 0.5, 0), 1)
  }
}
