import Synchronization

/// Holds back the answers of a server until a test lets them go.
final class PictureGate: Sendable {
  private struct State {
    var isOpen = true
    var waiting: [AsyncStream<Never>.Continuation] = []
  }

  private let state = Mutex(State())

  /// Holds back what comes from now on.
  func close() {
    state.withLock { $0.isOpen = false }
  }

  /// Lets everything go.
  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.finish() }
  }

  /// Returns when the gate is open, or the task is cancelled.
  func pass() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    let mustWait = state.withLock { state in
      if !state.isOpen { state.waiting.append(continuation) }
      return !state.isOpen
    }
    guard mustWait else { return }
    for await _ in stream {}
  }
}
