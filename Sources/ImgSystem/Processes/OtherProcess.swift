import CLinux
import Glibc

/// A process that is not a child, identified by a descriptor (pidfd_open(2)). So its number cannot
/// change its meaning between a check and a signal.
package struct OtherProcess: ~Copyable, Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor

  /// - Returns: `nil` if there is no such process.
  package init?(_ processID: Int32) throws(SystemError) {
    do throws(SystemError) {
      pidfd = OwnedDescriptor(
        adopting: try systemCall("pidfd_open") { img_pidfd_open(processID) })
    } catch {
      guard error.code == ESRCH else { throw error }
      return nil
    }
    self.processID = processID
  }

  /// Sends a signal. Does nothing if the process has ended.
  ///
  /// - Throws: EPERM for another user's process.
  package func signal(_ signal: CInt) throws(SystemError) {
    do throws(SystemError) {
      _ = try systemCall("send signal \(signal) to process \(processID)") {
        img_pidfd_send_signal(pidfd.rawValue, signal)
      }
    } catch {
      if error.code != ESRCH { throw error }
    }
  }

  /// Waits for the end of the process.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit.
  /// - Returns: `false` if `deadline` passed first.
  package func waitForExit(until deadline: ContinuousClock.Instant?) throws(SystemError) -> Bool {
    try waitForEvents(POLLIN, on: pidfd.rawValue, until: deadline)
  }
}
