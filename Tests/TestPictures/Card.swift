/// A test card that differs visibly from every other and shows its orientation.
///
/// The background's hue comes from the index, which stands in the middle in figures; the corners
/// are red (top left), green (top right), blue (bottom left) and yellow (bottom right).
package struct Card: Sendable {
  package let index: Int
  package let width: Int
  package let height: Int
  /// Whether the middle of the lower edge is transparent.
  package let hasAlpha: Bool

  package static let topLeft = Raster.Pixel(220, 30, 30)
  package static let topRight = Raster.Pixel(30, 160, 60)
  package static let bottomLeft = Raster.Pixel(30, 60, 200)
  package static let bottomRight = Raster.Pixel(240, 210, 40)

  package init(index: Int, width: Int, height: Int, hasAlpha: Bool = false) {
    precondition(index >= 0, "the figures have no sign")
    self.index = index
    self.width = width
    self.height = height
    self.hasAlpha = hasAlpha
  }

  package var raster: Raster {
    let label = Label(number: index, width: width, height: height)
    return Raster(width: width, height: height) { x, y in
      if label.covers(x, y) { return Raster.Pixel(255, 255, 255) }
      if let corner = corner(x, y) { return corner }
      if hasAlpha && isInNotch(x, y) { return Raster.Pixel(0, 0, 0, alpha: 0) }
      return background(x, y)
    }
  }

  private func corner(_ x: Int, _ y: Int) -> Raster.Pixel? {
    let side = max(1, min(width, height) / 4)
    let (isLeft, isRight) = (x < side, x >= width - side)
    let (isTop, isBottom) = (y < side, y >= height - side)
    return switch (isTop, isBottom, isLeft, isRight) {
    case (true, _, true, _): Self.topLeft
    case (true, _, _, true): Self.topRight
    case (_, true, true, _): Self.bottomLeft
    case (_, true, _, true): Self.bottomRight
    default: nil
    }
  }

  private func isInNotch(_ x: Int, _ y: Int) -> Bool {
    y >= height * 3 / 4 && x >= width / 3 && x < width * 2 / 3
  }

  /// A slope of brightness in the index's hue. Hues of neighbouring indices lie far apart, because
  /// each step turns the wheel by the golden ratio.
  private func background(_ x: Int, _ y: Int) -> Raster.Pixel {
    let turns = Double(index) * 0.618_033_988_75
    let hue = (turns - turns.rounded(.down)) * 6
    let brightness = 110 + 100 * Double(x + y) / Double(width + height)
    func channel(_ centre: Double) -> UInt8 {
      let distance = abs(hue - centre)
      let share = 2 - min(distance, 6 - distance)
      return UInt8(brightness * (0.35 + 0.65 * min(max(share, 0), 1)))
    }
    return Raster.Pixel(channel(0), channel(2), channel(4))
  }
}

/// A number in figures of 3 × 5 dots, as large as half a card allows, in the middle of it.
private struct Label {
  /// The dots of each figure, row by row from the top, a row's left dot in its highest bit.
  private static let figures: [[UInt8]] = [
    [0b111, 0b101, 0b101, 0b101, 0b111], [0b010, 0b110, 0b010, 0b010, 0b111],
    [0b111, 0b001, 0b111, 0b100, 0b111], [0b111, 0b001, 0b111, 0b001, 0b111],
    [0b101, 0b101, 0b111, 0b001, 0b001], [0b111, 0b100, 0b111, 0b001, 0b111],
    [0b111, 0b100, 0b111, 0b101, 0b111], [0b111, 0b001, 0b010, 0b010, 0b010],
    [0b111, 0b101, 0b111, 0b101, 0b111], [0b111, 0b101, 0b111, 0b001, 0b111],
  ]

  private let digits: [Int]
  /// Side of a dot in pixels; 0 where the card is too small for a number.
  private let dotSide: Int
  private let left: Int
  private let top: Int

  init(number: Int, width: Int, height: Int) {
    digits = String(number).compactMap(\.wholeNumberValue)
    let columns = digits.count * 4 - 1
    dotSide = min(width / 2 / columns, height / 2 / 5)
    left = (width - columns * dotSide) / 2
    top = (height - 5 * dotSide) / 2
  }

  func covers(_ x: Int, _ y: Int) -> Bool {
    guard dotSide > 0, x >= left, y >= top else { return false }
    let (column, row) = ((x - left) / dotSide, (y - top) / dotSide)
    guard row < 5, column < digits.count * 4, column % 4 < 3 else { return false }
    return Self.figures[digits[column / 4]][row] >> (2 - column % 4) & 1 == 1
  }
}
