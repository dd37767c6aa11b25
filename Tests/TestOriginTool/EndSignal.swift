import Dispatch
import Glibc

/// SIGTERM and SIGINT, to be waited for. Made before the process starts threads, so that all of
/// them leave the signals to the one that waits.
struct EndSignal {
  private let signals: sigset_t

  init() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe sigaddset(&signals, SIGINT)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    self.signals = signals
  }

  func wait(alsoForStandardInput: Bool) {
    if alsoForStandardInput {
      DispatchQueue.global().async {
        var byte: UInt8 = 0
        while unsafe read(STDIN_FILENO, &byte, 1) > 0 {}
        kill(getpid(), SIGTERM)
      }
    }
    var awaited = signals
    var received: CInt = 0
    unsafe sigwait(&awaited, &received)
  }
}
