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
