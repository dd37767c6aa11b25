import Glibc

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
    let (seconds, attoseconds) = duration.map { max($0, .microseconds(1)).components } ?? (0, 0)
    var value = itimerval()
    value.it_value = timeval(
      tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
    for timer in [ITIMER_REAL, ITIMER_PROF] {
      let result = unsafe setitimer(__itimer_which_t(timer.rawValue), &value, nil)
      precondition(result == 0, "both timers exist")
    }
  }
}
