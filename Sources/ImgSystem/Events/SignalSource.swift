import CLinux
import Glibc

/// Turns signals into readable data for a ``Poller``: signalfd(2).
///
/// The signals are blocked in the thread that creates the source, and so in every thread started
/// afterwards; they stay blocked when the source ends.
package final class SignalSource {
  private let source: OwnedDescriptor

  /// To be called before any other thread starts: a thread that does not block a signal would be
  /// chosen to die of it.
  package init(_ signals: [CInt]) throws(SystemError) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals {
      let result = unsafe sigaddset(&set, signal)
      precondition(result == 0, "\(signal) is not a signal")
    }
    let code = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    guard code == 0 else { throw SystemError(operation: "pthread_sigmask", code: code) }
    source = OwnedDescriptor(adopting: try systemCall("signalfd") { unsafe img_signalfd(&set) })
  }

  /// Readable while a signal waits.
  package var descriptor: CInt { source.rawValue }

  /// The signals that came since the last call; never waits. The kernel merges equal ones.
  package func take() -> [CInt] {
    var signals: [CInt] = []
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while unsafe read(source.rawValue, &information, size) == size {
      signals.append(CInt(bitPattern: information.ssi_signo))
    }
    return signals
  }
}
