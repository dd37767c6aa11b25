import ImgModel
import ImgSystem
import ImgWire
import Synchronization

/// One request to the coordinator, and the task that waits for its answer. It ends exactly once.
final class SessionCall: Sendable {
  /// What a reply is to the call.
  enum Step: Sendable {
    /// Others follow. The message is sent in return.
    case more(ClientMessage?)
    /// The coordinator is leaving. The next one is asked.
    case again
    /// The answer.
    case answer
  }

  /// What decides when the call is sent, among those that wait.
  enum Turn: Sendable {
    /// A question that the coordinator answers by itself: before all loads.
    case first
    /// A load from a host.
    case load(host: String, priority: Int)
  }

  private enum State {
    case created
    case waiting(CheckedContinuation<Result<SessionReply, SessionError>, Never>)
    case ended
  }

  /// Whether the request may be sent again over the next connection when its own is lost.
  let isRepeatable: Bool
  /// The request, under a number of the connection that it is sent over.
  let request: @Sendable (RequestID) -> ClientMessage
  /// The file beside the request; `nil` if that announces none.
  let file: PassedFile?
  /// Tells the coordinator that the task no longer waits; `nil` if there is nothing to tell, because the
  /// request has one reply.
  let detachment: (@Sendable (RequestID) -> ClientMessage)?
  let turn: Turn
  private let step: @Sendable (SessionReply) -> Step
  private let state = Mutex(State.created)

  /// - Parameter step: runs on the session's thread, so it is quick.
  init(
    isRepeatable: Bool = true, request: @escaping @Sendable (RequestID) -> ClientMessage,
    file: PassedFile? = nil,
    detachment: (@Sendable (RequestID) -> ClientMessage)? = nil, turn: Turn = .first,
    step: @escaping @Sendable (SessionReply) -> Step = { _ in .answer }
  ) {
    self.isRepeatable = isRepeatable
    self.request = request
    self.file = file
    self.detachment = detachment
    self.turn = turn
    self.step = step
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// The task waits from now on.
  ///
  /// - Returns: whether it does: a call that was cancelled before has ended.
  func wait(_ continuation: CheckedContinuation<Result<SessionReply, SessionError>, Never>) -> Bool
  {
    state.withLock { state in
      guard case .created = state else { return false }
      state = .waiting(continuation)
      return true
    }
  }

  /// Handles a reply. One that comes after the end changes nothing.
  ///
  /// - Returns: what the reply is to the call; `nil` if the call has ended before.
  func receive(_ reply: SessionReply) -> Step? {
    guard !hasEnded else { return nil }
    let step = step(reply)
    if case .answer = step { end(.success(reply)) }
    return step
  }

  /// Ends the call. Only the first end counts.
  func end(_ result: Result<SessionReply, SessionError>) {
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
