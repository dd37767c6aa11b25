import CMicroHTTPD
import Glibc
import ImgSystem
import Synchronization

/// What the threads of a server share: those of the event loops, the accept thread, and the callers.
final class ServerCore: Sendable {
  let handler: any HTTPHandler
  let limits: HTTPServer.Limits
  let counters = ServerCounters()
  let events: EventSet
  let connections: ConnectionTable
  let suspensions: Suspensions
  let drains: Drains
  /// Makes the accept thread look at the state.
  let wakeup: Wakeup
  /// When requests that are under way are cut off, in nanoseconds of the monotonic clock; `.max` if the
  /// server does not stop. Sequentially consistent, see ``endRequest()``. Signed, because in Swift 6.3.1
  /// `Atomic<UInt64>.min` compares as if the values were.
  private let deadline = Atomic(Int64.max)
  /// Whether the accept thread waits until there are fewer connections.
  private let isFull = Atomic(false)

  init(handler: any HTTPHandler, limits: HTTPServer.Limits) throws(SystemError) {
    self.handler = handler
    self.limits = limits
    events = try EventSet()
    connections = ConnectionTable(
      maximumCountPerClient: limits.connectionsPerAddress,
      maximumStreamsPerClient: limits.streamsPerAddress)
    suspensions = Suspensions(events: events, firstToken: AcceptThread.firstSuspensionToken)
    drains = Drains(events: events)
    wakeup = try Wakeup()
  }

  /// The deadline of a server that stops; `nil` for one that does not.
  var stopDeadline: UInt64? {
    let value = deadline.load(ordering: .sequentiallyConsistent)
    return value == .max ? nil : UInt64(value)
  }

  /// Whether connections close after their next response.
  var isStopping: Bool { stopDeadline != nil }

  /// Stops the server. A second call can only make it sooner.
  func stop(until deadline: UInt64) {
    self.deadline.min(Int64(clamping: deadline), ordering: .sequentiallyConsistent)
    wakeup.signal()
  }

  /// A request has its response, or its connection closes.
  ///
  /// This counts before it reads the deadline, and the accept thread looks at the count after the deadline
  /// was set, so one of the two notices the last request.
  func endRequest() {
    counters.countEnd()
    if isStopping { wakeup.signal() }
  }

  /// Asks ``closeConnection(_:)`` for a wake-up.
  func waitForSlot() {
    isFull.store(true, ordering: .sequentiallyConsistent)
  }

  /// A connection that had a request is about to close.
  func closeConnection(_ connection: Connection) {
    // Before it leaves the table: the accept thread looks for late drains while there are connections.
    if connection.isRefused { drains.add(connection.descriptor) }
    closeConnection(connection.descriptor)
  }

  /// A connection is about to close.
  func closeConnection(_ descriptor: CInt) {
    connections.remove(descriptor)
    if isFull.exchange(false, ordering: .sequentiallyConsistent) { wakeup.signal() }
  }
}

/// What a server counts. Any thread may change and read a counter; the counters order nothing.
final class ServerCounters: Sendable {
  private let accepted = Atomic(0)
  private let refused = Atomic(0)
  private let requests = Atomic(0)
  private let ended = Atomic(0)
  private let sentBytes = Atomic(0)
  private let waiting = Atomic(0)
  private let streams = Atomic(0)
  private let responses1 = Atomic(0)
  private let responses2 = Atomic(0)
  private let responses3 = Atomic(0)
  private let responses4 = Atomic(0)
  private let responses5 = Atomic(0)

  func countAccepted() { accepted.add(1, ordering: .relaxed) }
  func countRefused() { refused.add(1, ordering: .relaxed) }
  func countRequest() { requests.add(1, ordering: .relaxed) }
  func countSent(_ byteCount: Int) { sentBytes.add(byteCount, ordering: .relaxed) }

  func countResponse(_ status: HTTPStatus) {
    switch status.rawValue {
    case ..<200: responses1.add(1, ordering: .relaxed)
    case ..<300: responses2.add(1, ordering: .relaxed)
    case ..<400: responses3.add(1, ordering: .relaxed)
    case ..<500: responses4.add(1, ordering: .relaxed)
    default: responses5.add(1, ordering: .relaxed)
    }
  }

  /// Counts the end of a counted request. Sequentially consistent: the accept thread reads it after it has
  /// set the flag that the caller reads next, see ``ServerCore/endRequest()``.
  func countEnd() { ended.add(1, ordering: .sequentiallyConsistent) }

  /// The requests that have not ended.
  var requestsUnderWay: Int {
    let ended = ended.load(ordering: .sequentiallyConsistent)
    return requests.load(ordering: .sequentiallyConsistent) - ended
  }

  /// Takes a slot among the answers that tasks prepare.
  ///
  /// - Returns: `false` if there is none.
  func takeWaitingSlot(of maximumCount: Int) -> Bool {
    takeSlot(waiting, maximumCount)
  }

  func giveWaitingSlot() { waiting.subtract(1, ordering: .relaxed) }

  /// Takes a slot among the streams.
  ///
  /// - Returns: `false` if there is none.
  func takeStreamSlot(of maximumCount: Int) -> Bool {
    takeSlot(streams, maximumCount)
  }

  func giveStreamSlot() { streams.subtract(1, ordering: .relaxed) }

  private func takeSlot(_ counter: borrowing Atomic<Int>, _ maximumCount: Int) -> Bool {
    if counter.add(1, ordering: .relaxed).oldValue < maximumCount { return true }
    counter.subtract(1, ordering: .relaxed)
    return false
  }

  func statistics(openConnections: Int) -> HTTPServer.Statistics {
    HTTPServer.Statistics(
      acceptedConnections: accepted.load(ordering: .relaxed),
      refusedConnections: refused.load(ordering: .relaxed),
      openConnections: openConnections,
      requests: requests.load(ordering: .relaxed),
      waitingRequests: waiting.load(ordering: .relaxed),
      streams: streams.load(ordering: .relaxed),
      sentBytes: sentBytes.load(ordering: .relaxed),
      responses: [
        1: responses1.load(ordering: .relaxed),
        2: responses2.load(ordering: .relaxed),
        3: responses3.load(ordering: .relaxed),
        4: responses4.load(ordering: .relaxed),
        5: responses5.load(ordering: .relaxed),
      ])
  }
}

/// The open connections of a server.
///
/// A descriptor in the table is open: the thread that closes it removes it before. So what holds the lock can
/// shut it down.
final class ConnectionTable: Sendable {
  private struct State {
    var connections: [CInt: Connection] = [:]
    var countsByClient: [ClientAddress: Int] = [:]
    var streamCounts: [ClientAddress: Int] = [:]
    var countsByLoop: [Int: Int] = [:]
  }

  private let state = Mutex(State())
  private let maximumCountPerClient: Int
  private let maximumStreamsPerClient: Int

  init(maximumCountPerClient: Int, maximumStreamsPerClient: Int) {
    self.maximumCountPerClient = maximumCountPerClient
    self.maximumStreamsPerClient = maximumStreamsPerClient
  }

  var count: Int {
    state.withLock { $0.connections.count }
  }

  /// The connections of each event loop that has any, by its position.
  var countsByLoop: [Int: Int] {
    state.withLock { $0.countsByLoop }
  }

  /// - Returns: `false` if the client has too many connections. It is not added then.
  func add(_ connection: Connection) -> Bool {
    state.withLock { state in
      if let client = connection.client {
        let count = state.countsByClient[client, default: 0]
        guard count < maximumCountPerClient else { return false }
        state.countsByClient[client] = count + 1
      }
      state.connections[connection.descriptor] = connection
      state.countsByLoop[connection.loop, default: 0] += 1
      return true
    }
  }

  /// Counts a stream of a connection. ``endStream(of:)`` follows.
  ///
  /// - Returns: `false` if its client has too many. It is not counted then.
  func beginStream(of connection: Connection) -> Bool {
    guard let client = connection.client else { return true }
    return state.withLock { state in
      let count = state.streamCounts[client, default: 0]
      guard count < maximumStreamsPerClient else { return false }
      state.streamCounts[client] = count + 1
      return true
    }
  }

  func endStream(of connection: Connection) {
    guard let client = connection.client else { return }
    state.withLock { state in
      let count = state.streamCounts[client, default: 1]
      state.streamCounts[client] = count > 1 ? count - 1 : nil
    }
  }

  /// The connection with this descriptor.
  subscript(descriptor: CInt) -> Connection? {
    state.withLock { $0.connections[descriptor] }
  }

  /// - Returns: the number of connections that are left.
  @discardableResult
  func remove(_ descriptor: CInt) -> Int {
    state.withLock { state in
      guard let removed = state.connections.removeValue(forKey: descriptor) else {
        return state.connections.count
      }
      state.countsByLoop[removed.loop, default: 1] -= 1
      if let client = removed.client {
        let count = state.countsByClient[client, default: 1]
        state.countsByClient[client] = count > 1 ? count - 1 : nil
      }
      return state.connections.count
    }
  }

  /// Closes the connections whose request is not there in time, or does not come. libmicrohttpd notices, and
  /// removes them.
  ///
  /// libmicrohttpd 0.9.75 does not notice the end of the input itself if it arrives with the bytes before it.
  ///
  /// - Parameter now: nanoseconds of the monotonic clock.
  func closeLate(at now: UInt64) {
    state.withLock { state in
      for connection in state.connections.values {
        guard let deadline = connection.requestDeadline else { continue }
        if deadline <= now {
          connection.close()
        } else if connection.hasEndOfInput {
          connection.showEndOfInput()
        }
      }
    }
  }

  /// Closes all connections that have no whole request. An answer that is on its way still arrives.
  func closeWaiting() {
    state.withLock { state in
      for connection in state.connections.values where connection.requestDeadline != nil {
        connection.closeInput()
      }
    }
  }

  /// Whether a connection waits for a request.
  var isAnyWaiting: Bool {
    state.withLock { state in
      state.connections.values.contains { $0.requestDeadline != nil }
    }
  }

  /// Closes the connection that has waited longest for a request, so that another client gets its slot. One
  /// whose client sends a request is closed only if there is no other.
  func closeLongestWaiting() {
    state.withLock { state in
      let waiting = state.connections.values.compactMap { connection in
        connection.requestDeadline.map { deadline in
          (order: (connection.isReceivingRequest ? 1 : 0, deadline), connection: connection)
        }
      }
      let first = waiting.min { $0.order < $1.order }
      first?.connection.close()
    }
  }
}

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

/// What the limit of connections of one address counts together: an IPv4 address, or the first 64 bits of an
/// IPv6 address, because one client has all addresses of such a network (RFC 4291, section 2.5.1).
struct ClientAddress: Hashable, Sendable {
  private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

  private let bytes: [UInt8]

  /// - Parameter ip: 4 or 16 bytes in network order.
  /// - Returns: `nil` for a loopback address, and for a Unix socket, whose address is empty. All clients of
  ///   a reverse proxy have these.
  init?(ip: [UInt8]) {
    let isMapped = ip.count == 16 && ip.starts(with: Self.mappedPrefix)
    let address = isMapped ? Array(ip.suffix(4)) : ip
    switch address.count {
    case 4 where address[0] != 127: bytes = address
    case 16 where address != Array(repeating: 0, count: 15) + [1]: bytes = Array(address.prefix(8))
    default: return nil
    }
  }
}
