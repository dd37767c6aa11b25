import ImgModel
import ImgTransport
import ImgWire
import Synchronization

/// One request to the coordinator, and the task that waits for its answer. It ends exactly once.
final class SessionCall: Sendable {
  typealias Answer = Delivery<CoordinatorReply>

  /// What a reply is to the call.
  enum Step: Sendable {
    /// Others follow. The message is sent in return.
    case more(ClientMessage?)
    /// The answer.
    case answer
  }

  private enum State {
    case created
    case waiting(CheckedContinuation<Result<Answer, SessionError>, Never>)
    case ended
  }

  /// Whether the request may be sent again over the next connection when its own is lost.
  let isRepeatable: Bool
  /// The request, under a number of the connection that it is sent over.
  let request: @Sendable (RequestID) -> ClientMessage
  /// Tells the coordinator that the task no longer waits; `nil` if there is nothing to tell, because the
  /// request has one reply.
  let detachment: (@Sendable (RequestID) -> ClientMessage)?
  private let step: @Sendable (Answer) -> Step
  private let state = Mutex(State.created)

  /// - Parameter step: runs on the session's thread, so it is quick.
  init(
    isRepeatable: Bool = true, request: @escaping @Sendable (RequestID) -> ClientMessage,
    detachment: (@Sendable (RequestID) -> ClientMessage)? = nil,
    step: @escaping @Sendable (Answer) -> Step = { _ in .answer }
  ) {
    self.isRepeatable = isRepeatable
    self.request = request
    self.detachment = detachment
    self.step = step
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// The task waits from now on.
  ///
  /// - Returns: whether it does: a call that was cancelled before has ended.
  func wait(_ continuation: CheckedContinuation<Result<Answer, SessionError>, Never>) -> Bool {
    state.withLock { state in
      guard case .created = state else { return false }
      state = .waiting(continuation)
      return true
    }
  }

  /// Handles a reply. One that comes after the end changes nothing.
  ///
  /// - Returns: what to send in return.
  func receive(_ reply: Answer) -> ClientMessage? {
    guard !hasEnded else { return nil }
    switch step(reply) {
    case .more(let message): return message
    case .answer:
      end(.success(reply))
      return nil
    }
  }

  /// Ends the call. Only the first end counts.
  func end(_ result: Result<Answer, SessionError>) {
    let ended = state.withLock { state in
      defer { state = .ended }
      return state
    }
    if case .waiting(let continuation) = ended { continuation.resume(returning: result) }
  }
}

/// Why a call has no answer.
enum SessionError: Error {
  /// Its task was cancelled.
  case cancelled
  case client(ClientError)
}
