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

private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  let result = unsafe clock_gettime(clock, &time)
  precondition(result == 0, "every Linux has clock \(clock)")
  return time
}
