import CLinux
import Glibc

/// The time since a moment that all processes of the machine share (CLOCK_MONOTONIC). It never
/// jumps, and stands still while the machine sleeps.
package enum MonotonicClock {
  package static func nanoseconds() -> UInt64 {
    let time = read(CLOCK_MONOTONIC)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// The processor time of the calling thread (CLOCK_THREAD_CPUTIME_ID). It stands still while the
/// thread does not run.
package enum ThreadClock {
  package static func time() -> Duration {
    Duration(read(CLOCK_THREAD_CPUTIME_ID))
  }
}

/// The processor time of all threads of a process (clock_getcpuclockid(3)).
package struct ProcessClock {
  private let clock: clockid_t

  /// - Returns: `nil` if there is no such process.
  package init?(ofProcess processID: Int32) {
    var clock = clockid_t()
    guard unsafe clock_getcpuclockid(processID, &clock) == 0 else { return nil }
    self.clock = clock
  }

  /// `nil` once the process has ended.
  package var time: Duration? {
    var time = timespec()
    return unsafe clock_gettime(clock, &time) == 0 ? Duration(time) : nil
  }
}

private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  let result = unsafe clock_gettime(clock, &time)
  precondition(result == 0, "every Linux has clock \(clock)")
  return time
}
