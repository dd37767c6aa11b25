import CLinux
import Glibc
import Synchronization

/// A child process, identified by a descriptor (pidfd_open(2)), so that it is never confused with a
/// later process of the same number.
///
/// Destroying this value neither kills nor reaps the process.
package struct ChildProcess: ~Copyable, Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor
  /// The exit status after reaping. The kernel reports it only once.
  private let status = Mutex<ExitStatus?>(nil)

  /// Takes ownership of a child that was not reaped.
  ///
  /// On failure, kills and reaps the child, because without a descriptor it can be neither watched
  /// nor ended safely.
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

  /// Sends a signal. Does nothing if the process has ended.
  package func signal(_ signal: CInt) {
    // For a child, the only documented failure is ESRCH: it has ended.
    _ = img_pidfd_send_signal(pidfd.rawValue, signal)
  }

  /// Lets processes with the priority of this one go first when both need the processor
  /// (setpriority(2)). Call it before the child starts threads, which inherit it.
  package func lowerPriority() {
    let process = __priority_which_t(PRIO_PROCESS.rawValue)
    // Where it is refused, the child keeps the usual priority. Beside a process that is five steps
    // above it and always busy, the child gets a third of that one's time (sched(7)). Its number is
    // its own until it is reaped.
    _ = setpriority(process, id_t(processID), getpriority(process, 0) + 5)
  }

  /// The exit status; `nil` while the process runs. Does not block.
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

  /// Waits for the end; `nil` if `deadline` passes first.
  ///
  /// - Parameter deadline: `nil` for no limit.
  package func waitForExit(until deadline: ContinuousClock.Instant?) -> ExitStatus? {
    // If the wait fails, reap still gives the right answer.
    _ = try? waitForEvents(POLLIN, on: pidfd.rawValue, until: deadline)
    return reap()
  }
}
