import CLinux
import Glibc
import ImgSystem

/// What a thread of a server waits for: epoll(7). Any thread may add and remove descriptors.
final class EventSet: Sendable {
  private static let maximumEventCount = 256

  private let epoll: OwnedDescriptor

  init() throws(SystemError) {
    epoll = OwnedDescriptor(adopting: try systemCall("epoll_create1") { img_epoll_create() })
  }

  /// Reports `token` whenever the descriptor is readable.
  func addReadable(_ descriptor: CInt, token: UInt64) throws(SystemError) {
    try add(descriptor, EPOLLIN.rawValue, token: token)
  }

  /// Reports `token` once: when the peer has closed its end, also only for sending, or the connection has
  /// failed.
  func addHangUp(_ descriptor: CInt, token: UInt64) throws(SystemError) {
    try add(descriptor, EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, token: token)
  }

  /// Call it before the descriptor closes.
  func remove(_ descriptor: CInt) {
    // ENOENT: it was not added, which is the wanted state.
    _ = epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, descriptor, nil)
  }

  /// Waits for events.
  ///
  /// - Parameter milliseconds: the limit of the wait; -1 for none.
  /// - Returns: the tokens; none after the limit, or a signal.
  func wait(milliseconds: CInt) -> [UInt64] {
    unsafe withUnsafeTemporaryAllocation(
      of: epoll_event.self, capacity: Self.maximumEventCount
    ) { events in
      let count = unsafe epoll_wait(
        epoll.rawValue, events.baseAddress, CInt(events.count), milliseconds)
      return unsafe events.prefix(max(Int(count), 0)).map { unsafe $0.data.u64 }
    }
  }

  private func add(
    _ descriptor: CInt, _ events: UInt32, token: UInt64
  ) throws(SystemError) {
    var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: token))
    _ = try systemCall("epoll_ctl") {
      unsafe epoll_ctl(epoll.rawValue, EPOLL_CTL_ADD, descriptor, &event)
    }
  }
}
