import Glibc
import Synchronization

/// The chunks of a stream on their way to a client, which reads at its own pace.
///
/// A task takes chunks from the stream while fewer bytes than the limit wait. The event loop takes the bytes.
/// Without bytes, it suspends the connection.
final class StreamSource: Sendable {
  /// What the event loop does next.
  enum Portion {
    case bytes(Int)
    /// The connection is suspended until there are bytes.
    case wait
    case end
    case failure
  }

  private struct State {
    /// The bytes from `readCount` wait.
    var bytes: [UInt8] = []
    var readCount = 0
    /// The stream has ended, or the client has left.
    var isEnded = false
    var isAbandoned = false
    var token: Suspensions.Token?
    var task: Task<Void, Never>?
    /// The task, while it waits for room.
    var room: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())
  private let loop: EventLoop
  private let connection: ConnectionHandle

  init(connection: ConnectionHandle, loop: EventLoop) {
    self.connection = connection
    self.loop = loop
  }

  private var core: ServerCore { loop.core }

  func start(_ stream: AsyncStream<[UInt8]>) {
    let task = Task {
      for await chunk in stream where !chunk.isEmpty {
        guard await add(chunk) else { break }
      }
      end()
    }
    let isAbandoned = state.withLock { state in
      if !state.isEnded { state.task = task }
      return state.isAbandoned
    }
    if isAbandoned { task.cancel() }
  }

  /// Copies waiting bytes to `buffer`, or suspends the connection. The caller is the content reader.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
    let (portion, room): (Portion, CheckedContinuation<Void, Never>?) = state.withLock { state in
      if state.isAbandoned { return (.failure, nil) }
      let count = min(state.bytes.count - state.readCount, buffer.count)
      if count > 0 {
        unsafe state.bytes.withUnsafeBytes {
          let waiting = unsafe $0[state.readCount..<state.readCount + count]
          unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: waiting))
        }
        state.readCount += count
        if state.readCount == state.bytes.count {
          state.bytes.removeAll(keepingCapacity: true)
          state.readCount = 0
        }
        core.counters.countSent(count)
        return (.bytes(count), state.bytes.isEmpty ? state.room.take() : nil)
      }
      if state.isEnded { return (.end, nil) }
      state.token = core.suspensions.suspend(connection, of: loop, for: .stream) {
        self.leave()
      }
      guard state.token == nil else { return (.wait, nil) }
      return (core.isStopping ? .end : .failure, nil)
    }
    room?.resume()
    return portion
  }

  /// The response has ended. The task ends.
  func abandon() {
    let (task, room) = state.withLock { state in
      state.isAbandoned = true
      state.isEnded = true
      return (state.task.take(), state.room.take())
    }
    task?.cancel()
    room?.resume()
  }

  /// The client has left, or the server stops.
  private func leave() {
    abandon()
    resume()
  }

  /// Adds bytes, and waits for room.
  ///
  /// - Returns: `false` if no more are needed.
  private func add(_ chunk: [UInt8]) async -> Bool {
    let isFull = state.withLock { state in
      if core.isStopping { state.isEnded = true }
      guard !state.isEnded else { return false }
      state.bytes += chunk
      return state.bytes.count - state.readCount >= core.limits.streamBufferBytes
    }
    resume()
    if isFull { await waitForRoom() }
    return state.withLock { !$0.isEnded }
  }

  private func waitForRoom() async {
    await withCheckedContinuation { continuation in
      let isWaiting = state.withLock { state in
        guard !state.isEnded, !state.bytes.isEmpty else { return false }
        state.room = continuation
        return true
      }
      if !isWaiting { continuation.resume() }
    }
  }

  /// The stream has ended.
  private func end() {
    state.withLock { state in
      state.isEnded = true
      state.task = nil
    }
    resume()
  }

  private func resume() {
    state.withLock { state in
      if let token = state.token.take() { core.suspensions.resume(token) }
    }
  }
}
