package import ImgSystem

/// A message as it arrived, with the file that travelled beside it; `file` is there exactly when the
/// message announces one, see `WireMessage.announcesFile`. The file closes with its last owner.
package struct Delivery<Message: Sendable>: Sendable {
  package let message: Message
  package let file: PassedFile?

  /// The file of a message that announces one.
  package var announcedFile: PassedFile {
    guard let file else { preconditionFailure("a channel delivers each file that is announced") }
    return file
  }
}

/// Why a file does not belong to its message. It ends the connection, because later files and messages
/// cannot be matched either.
package enum PassedFileError: Error, Hashable, CustomStringConvertible {
  /// A message announces a file that did not come.
  case missing
  /// A file came beside a message that announces none.
  case unannounced
  /// A file came with bytes in the middle of a frame.
  case misplaced
  /// More than one file came at once.
  case several

  package var description: String {
    switch self {
    case .missing: "a message without the file that it announces"
    case .unannounced: "a file beside a message that announces none"
    case .misplaced: "a file in the middle of a frame"
    case .several: "several files at once"
    }
  }
}
