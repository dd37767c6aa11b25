import FoundationEssentials
import Glibc

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
