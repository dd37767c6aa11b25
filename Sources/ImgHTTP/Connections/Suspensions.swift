import CMicroHTTPD
import Glibc
import ImgSystem
import Synchronization

/// The connections that wait without a thread.
///
/// libmicrohttpd does not watch a suspended connection, so this type does, and reports a client that leaves. A
/// client that only stops sending (shutdown(2), SHUT_WR) counts as one that leaves, as with nginx
/// (proxy_ignore_client_abort) and Go's net/http: no event tells the two apart until the server writes.
///
/// libmicrohttpd never closes a suspended connection, so the descriptors here are open.
final class Suspensions: Sendable {
  /// Stands for one suspension. No two are equal.
  struct Token: Hashable {
    let rawValue: UInt64
  }

  /// What a connection waits for.
  enum Purpose {
    /// An answer, which a stopping server waits for.
    case answer
    /// The next chunk of a stream, which a stopping server ends.
    case stream
  }

  private struct Entry {
    let handle: ConnectionHandle
    let loop: EventLoop
    let purpose: Purpose
    let descriptor: CInt
    let leave: @Sendable () -> Void
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var nextToken: UInt64
    /// Streams are refused.
    var isDraining = false
    /// All are refused.
    var isClosed = false
  }

  private let state: Mutex<State>
  private let events: EventSet

  /// - Parameter firstToken: the tokens in `events` below it have other meanings.
  init(events: EventSet, firstToken: UInt64) {
    self.events = events
    state = Mutex(State(nextToken: firstToken))
  }

  /// Suspends a connection. The thread of its event loop calls this, in a callback of libmicrohttpd.
  ///
  /// - Parameter leave: is called on the accept thread, at most once, when the client leaves or the server
  ///   stops. It must lead to ``resume(_:)``.
  /// - Returns: `nil` if the server stops or the client cannot be watched; the connection is not suspended
  ///   then.
  func suspend(
    _ handle: ConnectionHandle, of loop: EventLoop, for purpose: Purpose,
    leave: @escaping @Sendable () -> Void
  ) -> Token? {
    let descriptor = handle.descriptor
    return state.withLock { state in
      guard !state.isClosed, !(state.isDraining && purpose == .stream) else { return nil }
      let token = state.nextToken
      // Fails only without memory, or at the limit of watches of the user (epoll_ctl(2)).
      guard (try? events.addHangUp(descriptor, token: token)) != nil else { return nil }
      state.nextToken += 1
      state.entries[token] = Entry(
        handle: handle, loop: loop, purpose: purpose, descriptor: descriptor, leave: leave)
      unsafe MHD_suspend_connection(handle.pointer)
      return Token(rawValue: token)
    }
  }

  /// Lets the event loop go on with a connection. A second call does nothing.
  func resume(_ token: Token) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: token.rawValue) else { return }
      events.remove(entry.descriptor)
      entry.loop.resume(entry.handle)
    }
  }

  /// Handles an event of a suspended connection.
  func handleHangUp(token: UInt64) {
    state.withLock { $0.entries[token]?.leave }?()
  }

  /// Resumes the connections that wait for a chunk, and refuses such suspensions from now on.
  func drain() {
    let streams = state.withLock { state in
      state.isDraining = true
      return state.entries.filter { $0.value.purpose == .stream }.keys
    }
    for token in streams { resume(Token(rawValue: token)) }
  }

  /// Ends all suspensions, and refuses new ones from now on.
  func close() {
    let entries = state.withLock { state in
      state.isClosed = true
      return Array(state.entries.values)
    }
    for entry in entries { entry.leave() }
  }
}

/// A connection of libmicrohttpd.
///
/// Sendable is unchecked because of the pointer. Other threads only pass it to the thread of the event loop.
@safe
struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = unsafe pointer
  }

  /// The descriptor of its socket.
  var descriptor: CInt { unsafe MHD_get_connection_fd(pointer) }
}

/// The connections of refused requests whose clients may still send.
///
/// close(2) resets a TCP connection that has unread bytes, and after a reset a client may not see the response that
/// it was sent (RFC 9112, section 9.6). So a second descriptor keeps such a connection open after libmicrohttpd has
/// closed it, and what the client sends is read and dropped until the client closes, too.
///
/// A client that sends more than 16 MiB or for more than 5 seconds, or is one of more than 64, may see a reset.
final class Drains: Sendable {
  private struct Entry {
    let descriptor: CInt
    /// In nanoseconds of the monotonic clock.
    let deadline: UInt64
    var byteCount = 0
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var nextToken = Drains.firstToken
  }

  /// The tokens of events from here on are those of drains.
  static let firstToken: UInt64 = 1 << 63
  private static let maximumCount = 64
  private static let maximumByteCount = 16 << 20
  private static let nanoseconds: UInt64 = 5_000_000_000
  private static let blockByteCount = 64 << 10
  /// Blocks that are read before other connections have their turn.
  private static let maximumBatchCount = 16

  private let state = Mutex(State())
  private let events: EventSet

  init(events: EventSet) {
    self.events = events
  }

  deinit {
    close()
  }

  var isEmpty: Bool { state.withLock(\.entries.isEmpty) }

  /// Ends the response of a connection, and drops what its client sends from now on. Does nothing if there are
  /// too many drains, or no descriptors.
  ///
  /// - Parameter descriptor: not used after the call. It closes soon.
  func add(_ descriptor: CInt) {
    state.withLock { state in
      guard state.entries.count < Self.maximumCount else { return }
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return }
      StreamSocket.shutDownOutput(copy)
      let token = state.nextToken
      guard (try? events.addReadable(copy, token: token)) != nil else {
        // Without memory, or at the limit of watches of the user (epoll_ctl(2)).
        Glibc.close(copy)
        return
      }
      state.nextToken += 1
      state.entries[token] = Entry(
        descriptor: copy, deadline: MonotonicClock.nanoseconds() + Self.nanoseconds)
    }
  }

  /// Drops bytes that have arrived.
  func handleInput(token: UInt64) {
    state.withLock { state in
      guard var entry = state.entries[token] else { return }
      if Self.dropInput(of: &entry) {
        state.entries[token] = entry
      } else {
        state.entries[token] = nil
        end(entry)
      }
    }
  }

  /// Closes the connections whose time is over.
  ///
  /// - Parameter now: nanoseconds of the monotonic clock.
  func closeLate(at now: UInt64) {
    closeAll { $0.deadline <= now }
  }

  /// Closes all connections.
  func close() {
    closeAll { _ in true }
  }

  private func closeAll(where isOver: (Entry) -> Bool) {
    state.withLock { state in
      for (token, entry) in state.entries where isOver(entry) {
        state.entries[token] = nil
        end(entry)
      }
    }
  }

  private func end(_ entry: Entry) {
    events.remove(entry.descriptor)
    Glibc.close(entry.descriptor)
  }

  /// - Returns: `false` if the client has closed, or has sent too much.
  private static func dropInput(of entry: inout Entry) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: blockByteCount, alignment: 1) { block in
      for _ in 0..<maximumBatchCount {
        let count = unsafe recv(entry.descriptor, block.baseAddress, block.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        entry.byteCount += count
        guard entry.byteCount <= maximumByteCount else { return false }
      }
      return true
    }
  }
}
