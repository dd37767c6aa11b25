import ImgClient

/// How pixels become characters.
enum Output {
  /// Two pixels a character, in 24-bit colours.
  case halfBlocks
  /// The graphics of DEC terminals.
  case sixel
  /// The graphics protocol of kitty.
  case kitty

  /// How many pixels a character stands for.
  func pixelsPerCell(of terminal: Terminal) -> (width: Int, height: Int) {
    self == .halfBlocks ? (1, 2) : terminal.cell
  }

  /// Writes pixels, with a line feed at the end.
  ///
  /// - Parameters:
  ///   - number: tells images apart, so that one can be replaced.
  ///   - size: in characters.
  func text(of pixels: ImagePixels, number: Int, size: (columns: Int, rows: Int)) -> String {
    switch self {
    case .halfBlocks: HalfBlocks.text(of: pixels)
    case .sixel: Sixel.text(of: pixels) + "\n"
    case .kitty:
      KittyGraphics.text(of: pixels, number: number, columns: size.columns, rows: size.rows) + "\n"
    }
  }
}
