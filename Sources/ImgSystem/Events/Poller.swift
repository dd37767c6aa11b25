import CLinux
import Glibc

/// Waits for many descriptors at once: level-triggered epoll(7), used by one thread.
///
/// An event carries the token given at registration. A token that includes a generation tells a
/// late event of the same batch from one for the next owner of a reused descriptor number.
package final class Poller {
  /// What a descriptor is watched for. A hang-up or an error is reported in any case.
  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
  }

  /// One descriptor's news.
  package struct Readiness: Hashable, Sendable {
    package let token: UInt64
    package let isReadable: Bool
    package let isWritable: Bool
    /// The other side is gone or the descriptor is in error; unread bytes may remain.
    package let isHungUp: Bool

    package init(token: UInt64, isReadable: Bool, isWritable: Bool, isHungUp: Bool) {
      self.token = token
      self.isReadable = isReadable
      self.isWritable = isWritable
      self.isHungUp = isHungUp
    }
  }

  /// The most events one ``wait(timeout:)`` gives; what is still ready comes with the next.
  package static let maximumEventCount = Int(IMG_MAXIMUM_EVENT_COUNT)

  private let epoll: OwnedDescriptor
  /// Scratch space for the kernel, allocated once.
  private var events = [img_readiness](repeating: img_readiness(), count: maximumEventCount)

  package init() throws(SystemError) {
    epoll = OwnedDescriptor(adopting: try systemCall("epoll_create1") { img_epoll_create() })
  }

  /// Begins to watch an open descriptor.
  package func register(
    _ descriptor: CInt, _ interest: Interest, token: UInt64
  ) throws(SystemError) {
    try control(EPOLL_CTL_ADD, descriptor, interest, token)
  }

  /// Changes what a registered descriptor is watched for, and its token.
  package func update(
    _ descriptor: CInt, _ interest: Interest, token: UInt64
  ) throws(SystemError) {
    try control(EPOLL_CTL_MOD, descriptor, interest, token)
  }

  /// Ends watching; to be called before the descriptor is closed. One that is not registered is
  /// ignored.
  package func unregister(_ descriptor: CInt) {
    _ = img_epoll_control(epoll.rawValue, EPOLL_CTL_DEL, descriptor, false, false, 0)
  }

  /// Waits until something is ready, at most `timeout` (rounded up to milliseconds; `nil`: for
  /// ever).
  ///
  /// - Returns: at most ``maximumEventCount`` events; none when the time is over or a signal came.
  package func wait(timeout: Duration?) throws(SystemError) -> [Readiness] {
    let count = unsafe img_epoll_wait(epoll.rawValue, &events, timeout?.wholeMilliseconds ?? -1)
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
    _ operation: CInt, _ descriptor: CInt, _ interest: Interest, _ token: UInt64
  ) throws(SystemError) {
    _ = try systemCall("epoll_ctl") {
      img_epoll_control(
        epoll.rawValue, operation, descriptor, interest.contains(.read), interest.contains(.write),
        token)
    }
  }
}
