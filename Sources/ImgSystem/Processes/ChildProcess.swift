import CLinux
import Glibc
import Synchronization

/// A process we started, held by a descriptor (pidfd_open(2)) and so never mistaken for another
/// that got its number later.
///
/// The end of this value's life neither kills the process nor reaps it.
package struct ChildProcess: ~Copyable, Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor
  /// How it ended, once reaped: the kernel tells that a single time.
  private let status = Mutex<ExitStatus?>(nil)

  /// Takes over a child that nobody has reaped.
  ///
  /// A child without a descriptor could be neither watched nor ended safely: on failure it is
  /// killed and reaped.
  init(adopting processID: Int32) throws(SystemError) {
    do {
      pidfd = OwnedDescriptor(
        adopting: try systemCall("pidfd_open") { img_pidfd_open(processID) })
    } catch {
      kill(processID, SIGKILL)
      _ = try? systemCall("waitpid") { waitpid(processID, nil, 0) }
      throw error
    }
    self.processID = processID
  }

  /// Readable once the process has ended, reaped or not.
  package var descriptor: CInt { pidfd.rawValue }

  /// Sends a signal; without effect when the process has ended.
  package func signal(_ signal: CInt) {
    // Of the documented failures only ESRCH, an ended process, can happen to a child of ours.
    _ = img_pidfd_send_signal(pidfd.rawValue, signal)
  }

  /// How the process ended, or `nil` while it runs; never waits.
  package func reap() -> ExitStatus? {
    status.withLock { status in
      if status == nil {
        var wasExit = false
        var value: CInt = 0
        if unsafe img_reap(pidfd.rawValue, &wasExit, &value) == 1 {
          status = wasExit ? .exited(value) : .signalled(value)
        }
      }
      return status
    }
  }

  /// Waits for the end; `nil` when `deadline` passed first.
  package func waitForExit(until deadline: ContinuousClock.Instant) -> ExitStatus? {
    // A wait that fails leaves the answer to reap, which knows.
    _ = try? waitForEvents(POLLIN, on: pidfd.rawValue, until: deadline)
    return reap()
  }
}
