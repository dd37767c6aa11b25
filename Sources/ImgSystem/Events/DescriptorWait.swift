import Glibc

/// Blocks until one of `events` occurs, or a hang-up or error, which the next call on the
/// descriptor reports. Returns `false` if `deadline` passes first; `nil` means no deadline.
func waitForEvents(
  _ events: CInt, on descriptor: CInt, until deadline: ContinuousClock.Instant?
) throws(SystemError) -> Bool {
  var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
  while true {
    let remaining = deadline.map { ContinuousClock.now.duration(to: $0) }
    let count = unsafe poll(&request, 1, remaining?.pollTimeout ?? -1)
    if count > 0 { return true }
    if count < 0, errno != EINTR { throw .last("poll") }
    if let deadline, ContinuousClock.now >= deadline { return false }
  }
}
