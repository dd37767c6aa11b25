import CMicroHTTPD
import Glibc
import ImgSystem
import Synchronization

/// What the server knows of a connection. The thread of its event loop sets the deadline; the accept thread
/// looks at it to close what is late.
final class Connection: Sendable {
  let descriptor: CInt
  /// `nil` for a client without a limit of its own.
  let client: ClientAddress?
  /// The position of the event loop that has it.
  let loop: Int
  private let idleNanoseconds: UInt64
  private let requestNanoseconds: UInt64
  /// On the monotonic clock. Orders no other access: a late look closes the connection a second later.
  private let deadline = Atomic<UInt64>(.max)
  /// Whether a request line has arrived whose request is not whole. Orders no other access either.
  private let receivesRequest = Atomic(false)
  /// Only the thread of the event loop uses it.
  private let refusal = Atomic(false)

  /// - Parameter descriptor: valid until ``ConnectionTable/remove(_:)``.
  init(descriptor: CInt, client: ClientAddress?, loop: Int, limits: HTTPServer.Limits) {
    self.descriptor = descriptor
    self.loop = loop
    self.client = client
    idleNanoseconds = (limits.idleTime + limits.requestTime).nanoseconds
    requestNanoseconds = limits.requestTime.nanoseconds
  }

  /// The next request must be there in time. Before the first call, the connection has no deadline.
  func waitForRequest() {
    receivesRequest.store(false, ordering: .relaxed)
    setDeadline(after: idleNanoseconds)
  }

  /// A request line has arrived, and the rest must follow in time.
  func receiveRequest() {
    receivesRequest.store(true, ordering: .relaxed)
    setDeadline(after: requestNanoseconds)
  }

  /// The request is whole. libmicrohttpd closes a connection whose client does not read the answer.
  func answerRequest() {
    deadline.store(.max, ordering: .relaxed)
  }

  /// Shuts the connection down, so that libmicrohttpd closes it soon. The caller knows that it is open, see
  /// ``ConnectionTable``.
  func close() {
    deadline.store(.max, ordering: .relaxed)
    StreamSocket.shutDown(descriptor)
  }

  /// The same, but an answer that is on its way still arrives.
  func closeInput() {
    deadline.store(.max, ordering: .relaxed)
    StreamSocket.shutDownInput(descriptor)
  }

  /// Makes libmicrohttpd look for the end of the input again. If it reads bytes meanwhile, it may miss that, so
  /// the connection keeps its deadline, and the next look repeats this.
  func showEndOfInput() {
    StreamSocket.shutDownInput(descriptor)
  }

  /// The request is refused, and the connection closes after the response.
  func refuseRequest() {
    refusal.store(true, ordering: .relaxed)
  }

  /// Sends a response, and nothing more on this connection. The thread of the event loop calls this in a callback,
  /// while no other response is under way.
  func sendLast(_ response: BareResponse) {
    // A client that has not read earlier responses has no room for this one. It gets none.
    _ = try? UnixSocket.send(descriptor, response.bytes[...])
    StreamSocket.shutDownOutput(descriptor)
  }

  /// Whether ``refuseRequest()`` was called, so that the client may still send what nothing reads.
  var isRefused: Bool { refusal.load(ordering: .relaxed) }

  /// When the client must have sent a request, in nanoseconds of the monotonic clock; `nil` if it need not.
  var requestDeadline: UInt64? {
    let value = deadline.load(ordering: .relaxed)
    return value == .max ? nil : value
  }

  /// Whether the client has begun a request that is not whole.
  var isReceivingRequest: Bool { receivesRequest.load(ordering: .relaxed) }

  /// Whether nothing follows what the client has sent until now.
  var hasEndOfInput: Bool {
    var request = pollfd(fd: descriptor, events: POLL_PEER_CLOSED, revents: 0)
    return unsafe poll(&request, 1, 0) == 1
  }

  private func setDeadline(after nanoseconds: UInt64) {
    deadline.store(MonotonicClock.nanoseconds() &+ nanoseconds, ordering: .relaxed)
  }
}
