import ImgSystem
import Synchronization

/// The open connections of a server.
///
/// A descriptor in the table is open: the thread that closes it removes it before. So what holds the lock can
/// shut it down.
final class ConnectionTable: Sendable {
  private struct State {
    var connections: [CInt: Connection] = [:]
    var countsByClient: [ClientAddress: Int] = [:]
    var streamCounts: [ClientAddress: Int] = [:]
    var countsByLoop: [Int: Int] = [:]
  }

  private let state = Mutex(State())
  private let maximumCountPerClient: Int
  private let maximumStreamsPerClient: Int

  init(maximumCountPerClient: Int, maximumStreamsPerClient: Int) {
    self.maximumCountPerClient = maximumCountPerClient
    self.maximumStreamsPerClient = maximumStreamsPerClient
  }

  var count: Int {
    state.withLock { $0.connections.count }
  }

  /// The connections of each event loop that has any, by its position.
  var countsByLoop: [Int: Int] {
    state.withLock { $0.countsByLoop }
  }

  /// - Returns: `false` if the client has too many connections. It is not added then.
  func add(_ connection: Connection) -> Bool {
    state.withLock { state in
      if let client = connection.client {
        let count = state.countsByClient[client, default: 0]
        guard count < maximumCountPerClient else { return false }
        state.countsByClient[client] = count + 1
      }
      state.connections[connection.descriptor] = connection
      state.countsByLoop[connection.loop, default: 0] += 1
      return true
    }
  }

  /// Counts a stream of a connection. ``endStream(of:)`` follows.
  ///
  /// - Returns: `false` if its client has too many. It is not counted then.
  func beginStream(of connection: Connection) -> Bool {
    guard let client = connection.client else { return true }
    return state.withLock { state in
      let count = state.streamCounts[client, default: 0]
      guard count < maximumStreamsPerClient else { return false }
      state.streamCounts[client] = count + 1
      return true
    }
  }

  func endStream(of connection: Connection) {
    guard let client = connection.client else { return }
    state.withLock { state in
      let count = state.streamCounts[client, default: 1]
      state.streamCounts[client] = count > 1 ? count - 1 : nil
    }
  }

  /// The connection with this descriptor.
  subscript(descriptor: CInt) -> Connection? {
    state.withLock { $0.connections[descriptor] }
  }

  /// - Returns: the number of connections that are left.
  @discardableResult
  func remove(_ descriptor: CInt) -> Int {
    state.withLock { state in
      guard let removed = state.connections.removeValue(forKey: descriptor) else {
        return state.connections.count
      }
      state.countsByLoop[removed.loop, default: 1] -= 1
      if let client = removed.client {
        let count = state.countsByClient[client, default: 1]
        state.countsByClient[client] = count > 1 ? count - 1 : nil
      }
      return state.connections.count
    }
  }

  /// Closes the connections whose request is not there in time, or does not come. libmicrohttpd notices, and
  /// removes them.
  ///
  /// libmicrohttpd 0.9.75 does not notice the end of the input itself if it arrives with the bytes before it.
  ///
  /// - Parameter now: nanoseconds of the monotonic clock.
  func closeLate(at now: UInt64) {
    state.withLock { state in
      for connection in state.connections.values {
        guard let deadline = connection.requestDeadline else { continue }
        if deadline <= now {
          connection.close()
        } else if connection.hasEndOfInput {
          connection.showEndOfInput()
        }
      }
    }
  }

  /// Closes all connections that have no whole request. An answer that is on its way still arrives.
  func closeWaiting() {
    state.withLock { state in
      for connection in state.connections.values where connection.requestDeadline != nil {
        connection.closeInput()
      }
    }
  }

  /// Whether a connection waits for a request.
  var isAnyWaiting: Bool {
    state.withLock { state in
      state.connections.values.contains { $0.requestDeadline != nil }
    }
  }

  /// Closes the connection that has waited longest for a request, so that another client gets its slot. One
  /// whose client sends a request is closed only if there is no other.
  func closeLongestWaiting() {
    state.withLock { state in
      let waiting = state.connections.values.compactMap { connection in
        connection.requestDeadline.map { deadline in
          (order: (connection.isReceivingRequest ? 1 : 0, deadline), connection: connection)
        }
      }
      let first = waiting.min { $0.order < $1.order }
      first?.connection.close()
    }
  }
}
