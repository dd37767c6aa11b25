import ImgSystem
import Synchronization

/// The file of a thumbnail, in which previews replace each other until the thumbnail is there. Without a
/// thumbnail the file becomes what it was before, also if a signal ends the program.
final class PreviewFile: Sendable {
  private struct State: ~Copyable {
    /// `nil` before the first preview.
    var file: ProvisionalFile?
    /// `false` once the file is as it was, or has the thumbnail.
    var takesPreviews = true
  }

  private let path: String
  private let state = Mutex(State())

  /// From now on, a signal that ends the program puts the file back.
  init(_ path: String) throws(SystemError) {
    self.path = path
    try Termination.prepare { [self] in try? undo() }
  }

  func replace(with preview: [UInt8]) throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      guard state.takesPreviews else { return }
      if state.file == nil { state.file = try ProvisionalFile(path: path) }
      try state.file?.replace(with: preview)
    }
  }

  /// The thumbnail has replaced the previews.
  func finish() {
    state.withLock { state in
      state.takesPreviews = false
      state.file.take()?.discard()
    }
  }

  /// There is no thumbnail.
  func undo() throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      state.takesPreviews = false
      try state.file.take()?.restore()
    }
  }
}
