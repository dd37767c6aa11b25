import FoundationEssentials
import Glibc
import ImgClient

/// What is known of the place that standard output goes to.
struct Terminal {
  let columnCount: Int
  /// The size of a character in pixels.
  let cell: (width: Int, height: Int)
  /// Whether the cursor can be moved back.
  let isInteractive: Bool

  static func current() -> Terminal {
    var size = winsize()
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0
    let (columns, rows) = (isKnown ? Int(size.ws_col) : 0, isKnown ? Int(size.ws_row) : 0)
    let variable = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) } ?? 0
    // Not every terminal tells its size in pixels.
    let hasPixels = columns > 0 && rows > 0 && size.ws_xpixel > 0 && size.ws_ypixel > 0
    return Terminal(
      columnCount: [variable, columns].first { $0 > 0 } ?? 80,
      cell: hasPixels
        ? (Int(size.ws_xpixel) / columns, Int(size.ws_ypixel) / rows) : (10, 20),
      isInteractive: isatty(STDOUT_FILENO) == 1)
  }
}

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
