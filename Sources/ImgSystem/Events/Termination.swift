import CLinux
import Glibc

/// The signals that ask a process to end.
package enum Termination {
  private static let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]

  /// Runs an action before SIGHUP, SIGINT, SIGQUIT or SIGTERM ends the process, for as long as the process runs.
  /// Call it once, before any other thread starts, see ``SignalSource``.
  ///
  /// - Parameter action: runs on a thread of its own, so it may take locks and call the system as it
  ///   likes. The signal ends the process when it returns.
  package static func prepare(
    _ action: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let source = try SignalSource(signals)
    let thread = try startThread(name: "signals", stackByteCount: 1 << 20) {
      while let isReadable = try? waitForEvents(POLLIN, on: source.descriptor, until: nil) {
        guard isReadable, let signal = source.take().first else { continue }
        action()
        end(by: signal)
      }
    }
    pthread_detach(thread)
  }

  /// Ends the process by the signal itself, so that its parent sees why: a shell leaves a loop.
  private static func end(by signal: CInt) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, signal)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    pthread_kill(pthread_self(), signal)
  }
}
