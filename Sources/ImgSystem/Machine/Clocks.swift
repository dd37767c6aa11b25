import Glibc

/// The time of day, which people and other machines share and which can jump.
package enum WallClock {
  /// Since 1970-01-01T00:00:00Z, leap seconds not counted.
  package static func milliseconds() -> Int64 {
    let time = read(CLOCK_REALTIME)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// Time that never jumps, since some moment that all processes of the machine share
/// (CLOCK_MONOTONIC); it stands still while the machine sleeps.
package enum MonotonicClock {
  package static func nanoseconds() -> UInt64 {
    let time = read(CLOCK_MONOTONIC)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// The processor time that the calling thread has taken (CLOCK_THREAD_CPUTIME_ID): it stands still
/// while the thread waits, or while others have the processor.
package enum ThreadClock {
  package static func time() -> Duration {
    let time = read(CLOCK_THREAD_CPUTIME_ID)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  let result = unsafe clock_gettime(clock, &time)
  precondition(result == 0, "every Linux has clock \(clock)")
  return time
}
