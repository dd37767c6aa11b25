import Synchronization

/// An answer that a task prepares while its connection waits without a thread.
final class PendingAnswer: Sendable {
  private enum Outcome {
    case none
    case response(HTTPResponse)
    /// The client has left, or the server stops.
    case abandoned
  }

  private struct State {
    var outcome = Outcome.none
    var token: Suspensions.Token?
    /// Until there is an outcome.
    var task: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let core: ServerCore

  private init(core: ServerCore) {
    self.core = core
  }

  /// Suspends the connection, and starts the task. The caller is the access handler.
  ///
  /// - Returns: `nil` if the connection cannot wait, because the server stops.
  static func start(
    _ executor: HTTPAnswer.Executor, _ prepare: @escaping @Sendable () async -> HTTPResponse,
    on connection: ConnectionHandle, of loop: EventLoop
  ) -> PendingAnswer? {
    let core = loop.core
    let answer = PendingAnswer(core: core)
    // The lock is held meanwhile, because the client may leave at once.
    let isSuspended = answer.state.withLock { state in
      state.token = core.suspensions.suspend(connection, of: loop, for: .answer) {
        answer.abandon()
      }
      return state.token != nil
    }
    guard isSuspended else { return nil }
    answer.run(on: executor, of: loop, prepare)
    return answer
  }

  private func run(
    on executor: HTTPAnswer.Executor, of loop: EventLoop,
    _ prepare: @escaping @Sendable () async -> HTTPResponse
  ) {
    let body = { @Sendable [self] in
      let response = await prepare()
      core.counters.giveWaitingSlot()
      end(.response(response))
    }
    let task =
      switch executor {
      case .concurrent: Task(operation: body)
      case .connection: Task.immediate(executorPreference: loop, operation: body)
      }
    let isWaiting = state.withLock { state in
      guard case .none = state.outcome else { return false }
      state.task = task
      return true
    }
    // The client has left, or the task has ended already.
    if !isWaiting { task.cancel() }
  }

  /// The response; `nil` if there is none, and the connection must close.
  func takeResponse() -> HTTPResponse? {
    state.withLock { state in
      guard case .response(let response) = state.outcome else { return nil }
      state.outcome = .abandoned
      return response
    }
  }

  private func abandon() {
    end(.abandoned)
  }

  private func end(_ outcome: Outcome) {
    let task: Task<Void, Never>? = state.withLock { state in
      guard case .none = state.outcome, let token = state.token else { return nil }
      state.outcome = outcome
      core.suspensions.resume(token)
      return state.task.take()
    }
    if case .abandoned = outcome { task?.cancel() }
  }
}
