import CLinux
import Glibc
import Synchronization

/// Waits for many descriptors: level-triggered epoll(7), used by one thread.
///
/// An event carries the token of the registration. A token with a generation distinguishes a late
/// event of the same batch from an event of the next owner of a reused descriptor number.
package final class Poller {
  /// The events to watch for. Hang-ups and errors are always reported.
  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
  }

  /// The events of one descriptor.
  package struct Readiness: Hashable, Sendable {
    package let token: UInt64
    package let isReadable: Bool
    package let isWritable: Bool
    /// The peer has closed or the descriptor has an error. Unread bytes may remain.
    package let isHungUp: Bool

    package init(token: UInt64, isReadable: Bool, isWritable: Bool, isHungUp: Bool) {
      self.token = token
      self.isReadable = isReadable
      self.isWritable = isWritable
      self.isHungUp = isHungUp
    }
  }

  /// The maximum number of events of one ``wait(timeout:)``. The next one returns the others.
  package static let maximumEventCount = Int(IMG_MAXIMUM_EVENT_COUNT)

  private struct Registration: Equatable {
    let interest: Interest
    let token: UInt64
  }

  private let epoll: OwnedDescriptor
  /// What the kernel watches each descriptor for, so that an update that changes nothing costs no
  /// system call. Loops update after each event.
  private var registrations: [CInt: Registration] = [:]
  /// A buffer for the kernel, allocated once.
  private var events = [img_readiness](repeating: img_readiness(), count: maximumEventCount)

  package init() throws(SystemError) {
    epoll = OwnedDescriptor(adopting: try systemCall("epoll_create1") { img_epoll_create() })
  }

  /// Starts watching an open descriptor.
  package func register(
    _ descriptor: CInt, _ interest: Interest, token: UInt64
  ) throws(SystemError) {
    try control(EPOLL_CTL_ADD, descriptor, Registration(interest: interest, token: token))
  }

  /// Changes the interest and the token of a registered descriptor. Costs nothing if both stay.
  package func update(
    _ descriptor: CInt, _ interest: Interest, token: UInt64
  ) throws(SystemError) {
    let registration = Registration(interest: interest, token: token)
    guard registrations[descriptor] != registration else { return }
    try control(EPOLL_CTL_MOD, descriptor, registration)
  }

  /// Stops watching a descriptor. Call it before closing the descriptor. Ignores one that is not
  /// registered.
  package func unregister(_ descriptor: CInt) {
    registrations[descriptor] = nil
    _ = img_epoll_control(epoll.rawValue, EPOLL_CTL_DEL, descriptor, false, false, 0)
  }

  /// Waits for events, at most `timeout` (rounded up to milliseconds; `nil` for no limit).
  ///
  /// - Returns: at most ``maximumEventCount`` events; none after the timeout or a signal.
  package func wait(timeout: Duration?) throws(SystemError) -> [Readiness] {
    let count = unsafe img_epoll_wait(epoll.rawValue, &events, timeout?.pollTimeout ?? -1)
    if count < 0 {
      if errno == EINTR { return [] }
      throw .last("epoll_wait")
    }
    return events.prefix(Int(count)).map { event in
      Readiness(
        token: event.token, isReadable: event.is_readable, isWritable: event.is_writable,
        isHungUp: event.is_hung_up)
    }
  }

  private func control(
    _ operation: CInt, _ descriptor: CInt, _ registration: Registration
  ) throws(SystemError) {
    let interest = registration.interest
    _ = try systemCall("epoll_ctl") {
      img_epoll_control(
        epoll.rawValue, operation, descriptor, interest.contains(.read), interest.contains(.write),
        registration.token)
    }
    registrations[descriptor] = registration
  }
}

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

/// Carries messages from any thread to the thread whose ``Poller`` watches ``descriptor``.
///
/// It has no bound of its own. Each message answers a job that the receiver queued, and the queue
/// of jobs is bounded.
package final class Mailbox<Message: Sendable>: Sendable {
  private let messages = Mutex<[Message]>([])
  private let wakeup: Wakeup

  package init() throws(SystemError) {
    wakeup = try Wakeup()
  }

  /// Readable while there are messages, and sometimes when there are none.
  package var descriptor: CInt { wakeup.descriptor }

  package func post(_ message: Message) {
    post(contentsOf: CollectionOfOne(message))
  }

  /// Posts several messages, which one ``takeAll()`` returns.
  package func post(contentsOf new: some Collection<Message>) {
    guard !new.isEmpty else { return }
    let wasEmpty = messages.withLock { messages in
      messages.append(contentsOf: new)
      return messages.count == new.count
    }
    if wasEmpty { wakeup.signal() }
  }

  /// Removes all messages, in the order of posting. Only one thread may call this.
  package func takeAll() -> [Message] {
    // First, because a message posted after this line sets the flag again.
    wakeup.drain()
    return messages.withLock { messages in
      let taken = messages
      messages = []
      return taken
    }
  }
}
