import CMicroHTTPD
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
