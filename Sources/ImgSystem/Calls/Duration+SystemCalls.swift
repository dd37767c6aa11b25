import Glibc

/// Durations in the units of system calls.
extension Duration {
  /// The timeout for poll(2) and epoll_wait(2), in milliseconds. Rounded up, so that a wait never
  /// ends just before its deadline; 0 for the past; at most 24 days.
  var pollTimeout: CInt {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < Int64(CInt.max) / 1000 else { return CInt.max }
    let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds = (attoseconds + attosecondsPerMillisecond - 1) / attosecondsPerMillisecond
    return CInt(seconds * 1000 + milliseconds)
  }

  /// For nanosleep(2).
  var timespec: timespec {
    let (seconds, attoseconds) = components
    return Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  }

  /// The time that a clock shows.
  init(_ time: timespec) {
    self = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
