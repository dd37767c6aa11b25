package import ImgSystem

/// Why output could not be written.
package enum OutputError: Error, Hashable, Sendable {
  /// The reader closed the pipe, as in `imgctl list | head -1`. That ends the command and is no
  /// failure.
  case readerLeft
  case failed(SystemError)
}
