/// An open file that one process passes to another beside a message: a memory file, or one end of a
/// socket pair.
///
/// All users share this object. The descriptor closes with the last reference. The peer may have
/// passed any file, so the user of a received one checks it, see ``MemoryFile/contents(byteCount:)``.
package final class PassedFile: Sendable {
  private let file: OwnedDescriptor

  /// Takes ownership of the descriptor, without checks.
  package init(adopting descriptor: consuming OwnedDescriptor) {
    file = descriptor
  }

  /// The number, for calls. Valid only while this object lives.
  package var descriptor: CInt { file.rawValue }
}
