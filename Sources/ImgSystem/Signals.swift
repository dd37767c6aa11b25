import CLinux
import Glibc
import Synchronization

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
  /// Runs an action before a signal ends the process, for as long as the process runs, or until that is stopped.
  /// Call it once, before any other thread starts, see ``SignalSource``.
  ///
  /// - Parameter action: runs on a thread of its own, so it may take locks and call the system as it
  ///   likes. The signal ends the process when it returns.
  @discardableResult
  package static func prepare(
    for signals: [CInt] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM],
    _ action: @escaping @Sendable () -> Void
  ) throws(SystemError) -> TerminationWatch {
    let watch = TerminationWatch(try SignalSource(signals))
    let thread = try startThread(name: "signals", stackByteCount: 1 << 20) {
      while let signal = watch.waitForSignal() {
        action()
        end(by: signal)
      }
    }
    pthread_detach(thread)
    return watch
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

/// Takes the signals for ``Termination/prepare(for:_:)``.
package final class TerminationWatch: Sendable {
  private enum Step {
    case took(CInt?)
    case stopped
  }

  private let source: SignalSource
  private let isStopped = Mutex(false)

  fileprivate init(_ source: SignalSource) {
    self.source = source
  }

  /// Leaves later signals to another ``SignalSource``: they stay blocked.
  package func stop() {
    isStopped.withLock { $0 = true }
  }

  /// - Returns: `nil` once this is stopped.
  fileprivate func waitForSignal() -> CInt? {
    while let isReadable = try? waitForEvents(POLLIN, on: source.descriptor, until: nil) {
      guard isReadable else { continue }
      let step = isStopped.withLock { $0 ? Step.stopped : .took(source.take().first) }
      switch step {
      case .stopped: return nil
      case .took(let signal): if let signal { return signal }
      }
    }
    return nil
  }
}

/// Code regions in which a crash is attributed to the files that they read, and the action on such
/// a crash.
///
/// A fault raises its signal in the faulting thread (signal(7)), so a handler knows whether that
/// thread was inside a region. After a stack overflow no handler runs, and the crash counts as
/// outside all regions.
package enum CrashRegion {
  /// Puts the calling thread inside a region until ``leave()``. Regions nest. Costs no system call.
  package static func enter() { img_enter_crash_region() }

  package static func leave() { img_leave_crash_region() }

  /// On a crash inside a region, stores 1 in a word before the process ends.
  ///
  /// - Precondition: the words live as long as the process.
  package static func record(in words: SharedWords, at index: Int) {
    unsafe install(img_crash_plan(word: words.address(of: index)))
  }

  /// On a crash inside a region, ends the process with a message on standard error and an exit
  /// status, like any other error. Buffered output is lost.
  package static func report(_ message: String, exitStatus: Int32) {
    unsafe install(img_crash_plan(message: strdup(message), status: exitStatus))
  }

  /// On a crash inside a region, restarts this program in the same process, with these arguments
  /// and variables and the standard streams.
  package static func restart(arguments: [String], environment: [String: String]) {
    unsafe install(
      img_crash_plan(
        arguments: permanentVector(["imgctl"] + arguments),
        environment: permanentVector(environment.map { "\($0.key)=\($0.value)" })))
  }

  /// The signals of faults. If a thread blocks one, the fault ends the process without the handler.
  static let signals = [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE]

  private static func install(_ plan: img_crash_plan) {
    unsafe img_set_crash_plan(plan)
    for signal in signals {
      let result = img_catch_crash(signal)
      precondition(result == 0, "\(signal) is a signal that can be caught")
    }
  }

  /// A null-terminated vector of strings for C that is never freed, because a signal handler may
  /// not allocate one.
  private static func permanentVector(
    _ strings: [String]
  ) -> UnsafePointer<UnsafeMutablePointer<CChar>?> {
    let vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
      capacity: strings.count + 1)
    for (index, string) in strings.enumerated() {
      unsafe (vector + index).initialize(to: strdup(string))
    }
    unsafe (vector + strings.count).initialize(to: nil)
    return unsafe UnsafePointer(vector)
  }
}

extension img_crash_plan {
  fileprivate init(
    word: UInt = 0, arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>? = nil,
    environment: UnsafePointer<UnsafeMutablePointer<CChar>?>? = nil,
    message: UnsafePointer<CChar>? = nil, status: Int32 = 0
  ) {
    unsafe self.init()
    unsafe self.word = word
    unsafe self.arguments = arguments
    unsafe self.environment = environment
    unsafe self.message = message
    unsafe self.status = status
  }
}
