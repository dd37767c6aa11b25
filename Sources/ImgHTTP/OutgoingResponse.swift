import CMicroHTTPD
import Glibc
import Synchronization

/// A response as libmicrohttpd takes it.
///
/// Sendable is unchecked because of the pointer. Once its fields are added, the response does not change, and
/// libmicrohttpd counts who uses it under a lock, so any threads can queue it.
@safe
struct OutgoingResponse: ~Copyable, @unchecked Sendable {
  private let handle: OpaquePointer

  /// The block in which libmicrohttpd asks for the bytes of a stream.
  private static let streamBlockByteCount = 16 << 10

  /// Without memory, it fails.
  init?(_ source: Source) {
    guard let handle = unsafe Self.make(source) else { return nil }
    unsafe self.handle = unsafe handle
  }

  deinit {
    // libmicrohttpd keeps it for as long as it needs it.
    unsafe MHD_destroy_response(handle)
  }

  /// - Parameter isLast: whether the connection closes after the response.
  /// - Returns: `false` if a field is not valid, such as one with a line break in its value, which would
  ///   begin another field.
  func add(_ fields: HTTPFields, isLast: Bool) -> Bool {
    for field in fields.fields {
      guard Self.isValid(field), add(field.name, field.value) else { return false }
    }
    return !isLast || add("Connection", "close")
  }

  func queue(status: HTTPStatus, on connection: OpaquePointer) -> MHD_Result {
    unsafe MHD_queue_response(connection, UInt32(status.rawValue), handle)
  }

  /// Where the bytes of a body come from.
  enum Source {
    case none
    case bytes(HTTPBody)
    case stream(StreamSource)
    /// A stream that is not sent, because the request is HEAD. The connection must close after the response.
    case omittedStream
  }

  private static func make(_ source: Source) -> OpaquePointer? {
    switch source {
    case .none:
      unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    case .bytes(let body):
      unsafe MHD_create_response_from_buffer_with_free_callback_cls(
        body.count, UnsafeMutableRawPointer(mutating: body.memory.baseAddress), releaseBody,
        Unmanaged.passRetained(body).toOpaque())
    case .stream(let source):
      unsafe MHD_create_response_from_callback(
        MHD_BODY_SIZE_UNKNOWN, streamBlockByteCount, readStream,
        Unmanaged.passRetained(source).toOpaque(), releaseStream)
    case .omittedStream:
      unsafe makeWithoutLength()
    }
  }

  /// Without the HTTP/1.0 option, libmicrohttpd would send the end of the chunked coding.
  private static func makeWithoutLength() -> OpaquePointer? {
    guard
      let handle = unsafe MHD_create_response_from_callback(
        MHD_BODY_SIZE_UNKNOWN, 1, { _, _, _, _ in MHD_READER_END_OF_STREAM }, nil, nil)
    else { return nil }
    guard unsafe MHD_allow_own_content_length(handle) == .YES else {
      unsafe MHD_destroy_response(handle)
      return nil
    }
    return unsafe handle
  }

  /// An argument that is a `String` would be copied first.
  private func add(_ name: String, _ value: String) -> Bool {
    unsafe name.withCString { name in
      unsafe value.withCString { value in
        unsafe MHD_add_response_header(handle, name, value) == .YES
      }
    }
  }

  private static func isValid(_ field: HTTPFields.Field) -> Bool {
    !field.name.isEmpty && field.name.utf8.allSatisfy(\.isTokenCharacter)
      && field.value.utf8.allSatisfy(\.isFieldCharacter)
  }
}

private let releaseBody: MHD_ContentReaderFreeCallback = { context in
  guard let context = unsafe context else { return }
  unsafe Unmanaged<HTTPBody>.fromOpaque(context).release()
}

private let releaseStream: MHD_ContentReaderFreeCallback = { context in
  guard let context = unsafe context else { return }
  unsafe Unmanaged<StreamSource>.fromOpaque(context).release()
}

private let readStream: MHD_ContentReaderCallback = { context, _, buffer, byteCount in
  guard let context = unsafe context else { return MHD_READER_END_WITH_ERROR }
  let source = unsafe Unmanaged<StreamSource>.fromOpaque(context).takeUnretainedValue()
  let portion = unsafe source.read(
    into: UnsafeMutableRawBufferPointer(start: buffer, count: byteCount))
  return switch portion {
  case .bytes(let count): count
  case .wait: 0
  case .end: MHD_READER_END_OF_STREAM
  case .failure: MHD_READER_END_WITH_ERROR
  }
}

/// A response without a body that the server sends itself, because libmicrohttpd may have no memory left for one. The
/// connection closes after it.
struct BareResponse {
  let bytes: [UInt8]

  /// - Parameters:
  ///   - reason: the reason phrase of the status.
  ///   - seconds: the time of `Date`, since 1970.
  init(_ status: HTTPStatus, reason: String, at seconds: Int) {
    let lines = [
      "HTTP/1.1 \(status.rawValue) \(reason)", "Date: \(Self.date(seconds))", "Connection: close",
      "Content-Length: 0", "", "",
    ]
    bytes = Array(lines.joined(separator: "\r\n").utf8)
  }

  /// A time in the form of RFC 9110, section 5.6.7.
  private static func date(_ seconds: Int) -> String {
    var seconds = seconds
    var time = unsafe tm()
    unsafe gmtime_r(&seconds, &time)
    let (day, month) = unsafe (days[Int(time.tm_wday)], months[Int(time.tm_mon)])
    let date = unsafe "\(day), \(twoDigits(time.tm_mday)) \(month) \(time.tm_year + 1900)"
    let clock = unsafe [time.tm_hour, time.tm_min, time.tm_sec].map(twoDigits)
    return "\(date) \(clock.joined(separator: ":")) GMT"
  }

  private static func twoDigits(_ number: CInt) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

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
