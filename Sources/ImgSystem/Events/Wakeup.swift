import CLinux
import Glibc

/// A flag that any thread raises and that another can wait for, alone or in a ``Poller``:
/// eventfd(2).
package final class Wakeup: Sendable {
  private let event: OwnedDescriptor

  package init() throws(SystemError) {
    event = OwnedDescriptor(adopting: try systemCall("eventfd") { img_eventfd() })
  }

  /// Readable while the flag is up.
  package var descriptor: CInt { event.rawValue }

  /// Raises the flag; it stays up until somebody takes it down.
  package func signal() {
    // The only failure is a counter at its maximum (EAGAIN), and then the flag is up already.
    _ = eventfd_write(event.rawValue, 1)
  }

  /// Takes the flag down, without waiting.
  package func drain() {
    var count: UInt64 = 0
    // The only failure is a flag that is down (EAGAIN).
    _ = unsafe eventfd_read(event.rawValue, &count)
  }

  /// Waits until the flag is up, and takes it down. One thread waits at a time.
  ///
  /// - Parameter deadline: when to wait no longer; `nil` for never.
  package func waitBlocking(until deadline: ContinuousClock.Instant? = nil) {
    do {
      _ = try waitForEvents(POLLIN, on: event.rawValue, until: deadline)
    } catch {
      preconditionFailure("an event descriptor cannot be waited for: \(error)")
    }
    drain()
  }
}
