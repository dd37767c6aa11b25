import ImgModel

/// The last line of a terminal, redrawn for each update. The caller writes the returned texts
/// unchanged.
package struct RedrawnLine: Sendable {
  /// Moves to the first column and clears the line (ECMA-48, EL).
  private static let clear = "\r\u{1B}[K"

  private var shown = ""

  package init() {}

  /// The output that replaces the shown text by `text`; empty if they are equal.
  package mutating func draw(_ text: String) -> String {
    guard text != shown else { return "" }
    shown = text
    return Self.clear + text.printable
  }

  /// The output that clears the line for other text.
  package mutating func erase() -> String {
    guard !shown.isEmpty else { return "" }
    shown = ""
    return Self.clear
  }

  /// The output that keeps the line and continues below it.
  package mutating func end() -> String {
    guard !shown.isEmpty else { return "" }
    shown = ""
    return "\n"
  }
}
