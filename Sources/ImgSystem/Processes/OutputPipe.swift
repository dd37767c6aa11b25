import CLinux
import Glibc

/// A pipe (pipe(7)) for what a child process writes. Neither end blocks: what exceeds its buffer is
/// lost, so no child waits for a reader.
///
/// Each end is an open file of its own, so a child that changes its flags changes nothing for the
/// reader. Unlike a socket, a pipe has no call by which a child ends it for others.
package struct OutputPipe: ~Copyable, Sendable {
  /// What a read finds.
  package enum ReadResult: Hashable, Sendable {
    case bytes
    /// A writer may still write.
    case nothing
    /// No process has the other end.
    case closed
  }

  /// What a pipe holds at most, unless a process changes that (pipe(7), "Pipe capacity").
  package static let capacity = 1 << 16

  private var reader: OwnedDescriptor?
  private let writer: OwnedDescriptor

  package init() throws(SystemError) {
    var (reader, writer): (CInt, CInt) = (-1, -1)
    _ = try systemCall("pipe2") { unsafe img_pipe(&reader, &writer) }
    self.reader = OwnedDescriptor(adopting: reader)
    self.writer = OwnedDescriptor(adopting: writer)
  }

  /// The end for the child. This process must close its own by destroying this value, or the pipe
  /// never counts as closed.
  package var writerDescriptor: CInt { writer.rawValue }

  /// Takes the end to read from, once.
  package mutating func takeReader() -> OwnedDescriptor {
    guard let descriptor = reader.take() else { preconditionFailure("the reader was taken") }
    return descriptor
  }

  /// Appends bytes that are there to `buffer`, at most ``capacity``. Does not wait.
  package static func read(
    _ reader: CInt, into buffer: inout [UInt8]
  ) throws(SystemError) -> ReadResult {
    do {
      let count = try unsafe append(to: &buffer, upTo: capacity, operation: "read") {
        unsafe Glibc.read(reader, $0.baseAddress, $0.count)
      }
      return count == 0 ? .closed : .bytes
    } catch {
      guard error.code == EAGAIN else { throw error }
      return .nothing
    }
  }
}
