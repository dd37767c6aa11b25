import CMicroHTTPD
import Glibc

/// A door that is opened once and for good. A thread can wait for it together with a socket.
///
/// An event descriptor that is never read: after one write it stays readable for all.
final class Latch: Sendable {
  fileprivate let descriptor: CInt

  init() {
    descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
    precondition(descriptor >= 0, "no descriptor left for a latch, errno \(errno)")
  }

  deinit {
    close(descriptor)
  }

  var isOpen: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) > 0
  }

  func open() {
    // Fails only when the counter is full, and then the latch is open already.
    _ = eventfd_write(descriptor, 1)
  }
}

/// Why a wait on behalf of a client ended.
enum WaitEnd {
  case opened
  case elapsed
  case clientLeft
  case originStopped
}

/// Waits for a latch, for a time, or for both, whichever comes first; always also for the client of
/// the socket to leave and for the origin to stop.
func wait(
  for latch: Latch?, atMost duration: Duration?, socket: CInt, stopping: Latch
) -> WaitEnd {
  let deadline = duration.map { ContinuousClock.now + $0 }
  // poll(2) passes over an entry with a negative descriptor.
  var entries = [
    pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0),
    pollfd(fd: socket, events: POLL_PEER_CLOSED, revents: 0),
    pollfd(fd: latch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
  ]
  while true {
    let remaining = deadline.map { max(.zero, $0 - .now) }
    let count = unsafe poll(&entries, nfds_t(entries.count), remaining?.pollTimeout ?? -1)
    if count > 0 {
      if entries[0].revents != 0 { return .originStopped }
      return entries[1].revents != 0 ? .clientLeft : .opened
    }
    if count == 0 { return .elapsed }
    precondition(errno == EINTR, "poll failed with errno \(errno)")
  }
}

extension Duration {
  /// The timeout for poll(2), in milliseconds. Rounded up, so that a wait never ends early.
  fileprivate var pollTimeout: CInt {
    let (seconds, attoseconds) = components
    let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds =
      seconds * 1_000
      + (attoseconds + attosecondsPerMillisecond - 1) / attosecondsPerMillisecond
    return CInt(clamping: milliseconds)
  }
}
