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
    _ prepare: @escaping @Sendable () async -> HTTPResponse, on connection: ConnectionHandle,
    of loop: EventLoop
  ) -> PendingAnswer? {
    let core = loop.core
    let answer = PendingAnswer(core: core)
    // The lock is held meanwhile, because the client may leave at once.
    return answer.state.withLock { state in
      state.token = core.suspensions.suspend(connection, of: loop, for: .answer) {
        answer.abandon()
      }
      guard state.token != nil else { return nil }
      state.task = Task {
        let response = await prepare()
        core.counters.giveWaitingPlace()
        answer.end(.response(response))
      }
      return answer
    }
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
