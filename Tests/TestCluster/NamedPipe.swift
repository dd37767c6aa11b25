import Glibc
package import ImgSystem

/// A named pipe. A program that reads it as a file waits in open(2) until the pipe has a writer, and
/// then in read(2) until the writer closes it (fifo(7)).
package final class NamedPipe {
  package let path: String

  package init(path: String) throws {
    self.path = path
    guard unsafe mkfifo(path, 0o600) == 0 else { throw ClusterError("mkfifo \(path): \(errno)") }
  }

  /// Opens the pipe for writing as soon as a program has opened it for reading.
  ///
  /// - Returns: the end that the reader waits for; closing it lets the reader go on.
  package func openForWriting(
    within time: Duration = ProgramRun.patience
  ) throws -> OwnedDescriptor {
    let deadline = ContinuousClock.now + time
    while ContinuousClock.now < deadline {
      let descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      if descriptor >= 0 { return OwnedDescriptor(adopting: descriptor) }
      ThisProcess.pause(for: .milliseconds(1))
    }
    throw ClusterError("nothing reads \(path)")
  }
}
