import CLinux
import Glibc

/// What a command needs to know of the terminal it may be writing to.
package enum Terminal {
  package static func isTerminal(_ descriptor: CInt) -> Bool {
    isatty(descriptor) == 1
  }

  /// The width in characters; `nil` when it is not a terminal or does not say.
  package static func columns(_ descriptor: CInt) -> Int? {
    let columns = img_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
  }
}
