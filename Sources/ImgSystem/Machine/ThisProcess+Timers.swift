import CLinux

/// Limits of time that the kernel enforces on this process.
extension ThisProcess {
  /// Ends this process by SIGALRM when so much time has passed, and by SIGPROF when its threads have
  /// used so much processor time together (setitimer(2)). A later call restarts both.
  ///
  /// Not RLIMIT_CPU: it counts whole seconds, and a filter of system calls can then refuse every
  /// change of a limit.
  ///
  /// - Parameter duration: `nil` stops both.
  package static func setTimers(_ duration: Duration?) {
    // A timer of zero is a stopped timer.
    let time = duration.map { max($0, .microseconds(1)) } ?? .zero
    let result = img_set_timers(Int64(time / .microseconds(1)))
    precondition(result == 0, "both timers exist")
  }
}
