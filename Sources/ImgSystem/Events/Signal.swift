import CLinux
import Glibc

/// What is known of the signals of a process (signal(7)).
package enum Signal {
  /// For example `SIGTERM`; `nil` for a signal without a name.
  package static func name(of signal: CInt) -> String? {
    guard let name = unsafe img_signal_name(signal) else { return nil }
    return unsafe "SIG\(String(cString: name))"
  }

  /// Whether this process ignores a signal: nohup(1) ignores SIGHUP, a shell SIGINT for programs in the
  /// background. If it is blocked, it becomes readable although it is ignored, see ``SignalSource``.
  static func isIgnored(_ signal: CInt) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
    let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    let ignoring = unsafe unsafeBitCast(SIG_IGN, to: Int.self)
    return handler == ignoring
  }
}
