import CLinux
import Glibc

/// Properties of a terminal.
package enum Terminal {
  package static func isTerminal(_ descriptor: CInt) -> Bool {
    isatty(descriptor) == 1
  }

  /// The width in characters; `nil` if it is not a terminal or does not report one.
  package static func columns(_ descriptor: CInt) -> Int? {
    let columns = img_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
  }
}
