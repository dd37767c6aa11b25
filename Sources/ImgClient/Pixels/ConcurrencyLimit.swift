import Synchronization

/// Lets a few tasks at a time do something. Further ones wait in the order in which they came.
final class ConcurrencyLimit: Sendable {
  private struct Waiter {
    let number: UInt64
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var freeCount: Int
    var lastNumber: UInt64 = 0
    var waiters: [Waiter] = []
  }

  private let state: Mutex<State>

  /// - Parameter count: the tasks that may go on at the same time.
  init(_ count: Int) {
    state = Mutex(State(freeCount: count))
  }

  /// Waits until the task may go on; it calls ``leave()`` when it is done.
  ///
  /// - Returns: `false` if the task was cancelled before. It may not go on then.
  func enter() async -> Bool {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mayEnter = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          guard state.freeCount == 0 else {
            state.freeCount -= 1
            return true
          }
          state.waiters.append(Waiter(number: number, continuation: continuation))
          return nil
        }
        if let mayEnter { continuation.resume(returning: mayEnter) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
  }

  /// A task that had entered is done.
  func leave() {
    let next = state.withLock { state -> Waiter? in
      guard !state.waiters.isEmpty else {
        state.freeCount += 1
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }
}
