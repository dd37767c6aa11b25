package import ImgSystem

/// Why a text could not be written.
package enum OutputError: Error, Hashable, Sendable {
  /// Whoever read it has seen enough, as in `imgctl list | head -1`: the end of the command, and no
  /// failure of it.
  case readerLeft
  case failed(SystemError)
}
