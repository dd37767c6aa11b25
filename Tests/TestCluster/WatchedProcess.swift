import CLinux
import ImgSystem

/// A process that another process started, held by a descriptor (pidfd_open(2)): it can be signalled
/// and its end awaited, and it is never mistaken for another that got its number later.
package final class WatchedProcess: Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor

  /// - Returns: `nil` when there is no such process.
  package init?(_ processID: Int32) {
    let descriptor = img_pidfd_open(processID)
    guard descriptor >= 0 else { return nil }
    pidfd = OwnedDescriptor(adopting: descriptor)
    self.processID = processID
  }

  /// Without effect when it has ended.
  package func signal(_ signal: CInt) {
    _ = img_pidfd_send_signal(pidfd.rawValue, signal)
  }

  /// Waits for its end.
  ///
  /// - Returns: whether it has ended within the time.
  package func hasEnded(within time: Duration = ProgramRun.patience) throws -> Bool {
    try UnixSocket.waitReadable(pidfd.rawValue, until: .now + time)
  }
}
