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
    /// With the error for a task that begins to wait later.
    case ended(SessionError?)
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

  /// The task waits from now on. If the call has ended before, the continuation is resumed at once.
  ///
  /// - Returns: whether it waits.
  func wait(_ continuation: CheckedContinuation<Result<SessionReply, SessionError>, Never>) -> Bool
  {
    let error: SessionError? = state.withLock { state in
      if case .ended(let error) = state { return error ?? .cancelled }
      state = .waiting(continuation)
      return nil
    }
    if let error { continuation.resume(returning: .failure(error)) }
    return error == nil
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
    var error: SessionError?
    if case .failure(let reason) = result { error = reason }
    let before = state.withLock { state in
      let before = state
      if case .ended = before { return before }
      state = .ended(error)
      return before
    }
    if case .waiting(let continuation) = before { continuation.resume(returning: result) }
  }
}

/// Why a call has no answer.
enum SessionError: Error {
  /// Its task was cancelled.
  case cancelled
  /// There was no answer until its deadline.
  case timedOut
  case client(ClientError)
}
