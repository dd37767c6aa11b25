import Glibc
import ImgModel
import ImgSystem

/// The log of the coordinator: one line an event on standard error. For a service that is systemd's
/// journal, for a coordinator that a command started the file `coordinator.log`.
struct Log {
  private let descriptor: CInt

  init(descriptor: CInt = STDERR_FILENO) {
    self.descriptor = descriptor
  }

  func note(_ message: String) {
    write("\(WallTime.now) imgcoordinator: \(message)")
  }

  /// Writes a line that has its time and program.
  func write(_ line: String) {
    // A log that cannot be written must not stop the work, and no other place would be read.
    try? FileIO.writeAll(descriptor, "\(line.withoutPasswords.printable)\n")
  }
}
