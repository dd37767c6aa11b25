import CLinux
import Glibc

/// Makes signals readable for a ``Poller``: signalfd(2).
///
/// The creating thread blocks the signals, and threads that start afterwards inherit that. The
/// signals stay blocked when the source ends.
package final class SignalSource: Sendable {
  private let source: OwnedDescriptor

  /// Create the source before any other thread starts. A signal would end the process through a
  /// thread that does not block it.
  ///
  /// - Parameter signals: one that the process ignores stays ignored, see ``Signal/isIgnored(_:)``.
  package init(_ signals: [CInt]) throws(SystemError) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals where !Signal.isIgnored(signal) {
      let result = unsafe sigaddset(&set, signal)
      precondition(result == 0, "\(signal) is not a signal")
    }
    let code = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    guard code == 0 else { throw SystemError(operation: "pthread_sigmask", code: code) }
    source = OwnedDescriptor(adopting: try systemCall("signalfd") { unsafe img_signalfd(&set) })
  }

  /// Readable while a signal is pending.
  package var descriptor: CInt { source.rawValue }

  /// The signals since the last call. Does not block. The kernel merges equal ones.
  package func take() -> [CInt] {
    var signals: [CInt] = []
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while unsafe read(source.rawValue, &information, size) == size {
      signals.append(CInt(bitPattern: information.ssi_signo))
    }
    return signals
  }

  /// Blocks until there is a signal.
  ///
  /// - Returns: at least one.
  package func waitBlocking() -> [CInt] {
    while true {
      let signals = take()
      if !signals.isEmpty { return signals }
      do {
        _ = try waitForEvents(POLLIN, on: source.rawValue, until: nil)
      } catch {
        preconditionFailure("waiting for a signal descriptor failed: \(error)")
      }
    }
  }
}
