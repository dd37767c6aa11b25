/// The last line of a terminal, drawn over and over. Remembers what is shown; the texts it returns
/// are to be written as they are.
package struct RedrawnLine: Sendable {
  /// To the first column, and clear from there to the end of the line (ECMA-48, EL).
  private static let clear = "\r\u{1B}[K"

  private var shown = ""

  package init() {}

  /// What shows `text` in place of what is shown; nothing when that is the same.
  package mutating func draw(_ text: String) -> String {
    guard text != shown else { return "" }
    shown = text
    return Self.clear + text
  }

  /// What clears the line, so that something else can be written there.
  package mutating func erase() -> String {
    guard !shown.isEmpty else { return "" }
    shown = ""
    return Self.clear
  }

  /// What leaves the line as it is and goes on below it.
  package mutating func end() -> String {
    guard !shown.isEmpty else { return "" }
    shown = ""
    return "\n"
  }
}
