import CLinux
import Glibc

/// A flag that any thread can set and one thread can wait for, directly or in a ``Poller``:
/// eventfd(2).
package final class Wakeup: Sendable {
  private let event: OwnedDescriptor

  package init() throws(SystemError) {
    event = OwnedDescriptor(adopting: try systemCall("eventfd") { img_eventfd() })
  }

  /// Readable while the flag is set.
  package var descriptor: CInt { event.rawValue }

  /// Sets the flag until ``drain()`` or ``waitBlocking(until:)`` clears it.
  package func signal() {
    // The only failure is a counter at its maximum (EAGAIN); the flag is then already set.
    _ = eventfd_write(event.rawValue, 1)
  }

  /// Clears the flag. Does not block.
  package func drain() {
    var count: UInt64 = 0
    // The only failure is a flag that is not set (EAGAIN).
    _ = unsafe eventfd_read(event.rawValue, &count)
  }

  /// Waits until the flag is set, and clears it. Only one thread may wait at a time.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit.
  package func waitBlocking(until deadline: ContinuousClock.Instant? = nil) {
    do {
      _ = try waitForEvents(POLLIN, on: event.rawValue, until: deadline)
    } catch {
      preconditionFailure("waiting for an event descriptor failed: \(error)")
    }
    drain()
  }
}
