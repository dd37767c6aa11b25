import Dispatch
import ImgClient
import Synchronization

/// Work that waits in a queue for its turn, for as long as a task waits for it.
final class QueuedWork<Value: Sendable>: Sendable {
  private enum State {
    case queued(CheckedContinuation<Value?, Never>?)
    case running(CheckedContinuation<Value?, Never>)
    /// Its task has gone on.
    case abandoned
  }

  private let state = Mutex(State.queued(nil))
  private let body: @Sendable () -> Value
  private let skip: @Sendable () -> Void

  private init(_ body: @escaping @Sendable () -> Value, skip: @escaping @Sendable () -> Void) {
    self.body = body
    self.skip = skip
  }

  /// Runs a body on a queue.
  ///
  /// - Parameter skip: is called in its place if the task was cancelled before.
  /// - Returns: `nil` if the task was cancelled meanwhile. What the body gives later is dropped.
  static func value(
    on queue: DispatchQueue, _ body: @escaping @Sendable () -> Value,
    skip: @escaping @Sendable () -> Void = {}
  ) async -> Value? {
    let work = QueuedWork(body, skip: skip)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        work.wait(continuation)
        queue.async { work.run() }
      }
    } onCancel: {
      work.abandon()
    }
  }

  private func wait(_ continuation: CheckedContinuation<Value?, Never>) {
    let isAbandoned = state.withLock { state in
      if case .abandoned = state { return true }
      state = .queued(continuation)
      return false
    }
    if isAbandoned { continuation.resume(returning: nil) }
  }

  private func run() {
    let isWanted = state.withLock { state in
      guard case .queued(let continuation?) = state else { return false }
      state = .running(continuation)
      return true
    }
    guard isWanted else { return skip() }
    let value = body()
    takeContinuation()?.resume(returning: value)
  }

  private func abandon() {
    takeContinuation()?.resume(returning: nil)
  }

  private func takeContinuation() -> CheckedContinuation<Value?, Never>? {
    state.withLock { state in
      defer { state = .abandoned }
      switch state {
      case .queued(let continuation): return continuation
      case .running(let continuation): return continuation
      case .abandoned: return nil
      }
    }
  }
}
