import Synchronization

/// Lets tasks wait for an event that happens once.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// The event has happened.
  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns after ``open()``.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
