import Dispatch
import Glibc
import Synchronization

/// Why an origin could not start.
package enum OriginError: Error {
  case cannotListen(port: UInt16)
}

/// A real HTTP origin on 127.0.0.1 that behaves, and misbehaves, as a test tells it to.
///
/// Every connection has a thread of its own, so a held request holds no other. Paths are matched
/// as they stand in the request line, without the query. `stop()`, or the end of the object's life,
/// closes every connection, also those in the middle of an answer.
package final class TestOrigin: Sendable {
  /// Chooses the behaviour of a path that has none; nil means 404.
  package typealias Fallback = @Sendable (_ path: String, _ query: String?) -> Behaviour?

  package let port: UInt16

  private let server: OriginServer
  private let daemon: Mutex<Daemon?>

  /// - Parameters:
  ///   - port: 0 for a free one.
  ///   - fallback: Must not hold the origin strongly, or it never ends.
  package init(port: UInt16, fallback: @escaping Fallback = { _, _ in nil }) throws(OriginError) {
    server = OriginServer(fallback: fallback)
    let daemon = try Daemon(port: port, server: server)
    self.port = daemon.port
    self.daemon = Mutex(daemon)
  }

  /// Listens on a free port. Ends the process without one: there is no test without its origin.
  package convenience init(fallback: @escaping Fallback = { _, _ in nil }) {
    do { try self.init(port: 0, fallback: fallback) } catch { fatalError("\(error)") }
  }

  deinit {
    stop()
  }

  /// Closes the socket and every connection; returns when their threads have ended.
  package func stop() {
    server.stop()
    daemon.withLock { $0 = nil }
  }

  /// `http://127.0.0.1:PORT`, to which a path is appended.
  package var baseURL: String { "http://127.0.0.1:\(port)" }

  /// Asked on the connection's thread, which it may block.
  package var fallback: Fallback {
    get { server.fallback }
    set { server.fallback = newValue }
  }

  /// Sets the behaviour of a path from its next request on. A path that was served before starts
  /// again: its sequence at the first element, its hold shut. Requests that are held there are
  /// released.
  package func serve(_ path: String, _ behaviour: Behaviour) {
    server.serve(path, behaviour)
  }

  /// Releases the requests that are held or stalled on a path, and holds no further ones.
  package func release(_ path: String) {
    server.release(path, step: 0)
  }

  /// The same for one of ``BodyDelivery/steps(_:)``, counted from 0.
  package func release(_ path: String, step: Int) {
    server.release(path, step: step)
  }

  /// Everything counted so far.
  package var snapshot: OriginSnapshot { server.ledger.snapshot }

  /// The counters of a path, or of a full target with its query.
  package func counters(_ target: String) -> PathCounters { snapshot[target] }

  package func totals() -> OriginTotals { snapshot.totals }

  /// The paths in the order their requests arrived.
  package func startOrder() -> [String] { snapshot.startOrder }

  /// Blocks until the counters meet a condition; looks at it after every change, not by the clock.
  ///
  /// - Parameter condition: Must not ask the origin, which waits for it.
  /// - Returns: False when they did not within `seconds`.
  package func waitUntil(seconds: Double = 240, _ condition: (OriginSnapshot) -> Bool) -> Bool {
    server.ledger.wait(seconds: seconds, until: condition)
  }

  /// Blocks until what clients have sent so far is read: the requests of a client that has ended are counted then.
  ///
  /// - Returns: False when it was not within `seconds`.
  package func waitUntilRead(seconds: Double = 240) -> Bool {
    var unread = server.connections
    return server.ledger.wait(seconds: seconds) { _ in
      // A client that has ended leaves its end to read until its connection is closed.
      unread.formIntersection(server.connections.filter(\.hasInput))
      return unread.isEmpty
    }
  }
}

/// What the connections' threads share: the behaviours, the latches of held paths, the ledger.
final class OriginServer: Sendable {
  typealias Fallback = @Sendable (_ path: String, _ query: String?) -> Behaviour?

  private struct Routes {
    var behaviours: [String: Behaviour] = [:]
    /// Of each path, those of the steps that are to be released.
    var latches: [String: [Latch]] = [:]
    var answerCounts: [String: Int] = [:]
    var fallback: Fallback

    mutating func latches(of path: String, count: Int) -> [Latch] {
      while latches[path, default: []].count < count {
        latches[path, default: []].append(Latch())
      }
      return latches[path, default: []]
    }
  }

  let ledger = Ledger()
  private let stopping = Latch()
  private let routes: Mutex<Routes>
  private let open = Mutex<Set<OpenSocket>>([])

  init(fallback: @escaping Fallback) {
    routes = Mutex(Routes(fallback: fallback))
  }

  var fallback: Fallback {
    get { routes.withLock { $0.fallback } }
    set { routes.withLock { $0.fallback = newValue } }
  }

  func serve(_ path: String, _ behaviour: Behaviour) {
    routes.withLock { routes in
      routes.behaviours[path] = behaviour
      routes.answerCounts[path] = nil
      // Requests that the old behaviour holds must not wait for ever.
      routes.latches.removeValue(forKey: path)?.forEach { $0.open() }
    }
  }

  func release(_ path: String, step: Int) {
    routes.withLock { $0.latches(of: path, count: step + 1) }[step].open()
  }

  /// The sockets of the open connections.
  var connections: Set<OpenSocket> { open.withLock { $0 } }

  func opened(_ connection: Connection) {
    _ = open.withLock { $0.insert(OpenSocket(descriptor: connection.descriptor)) }
    ledger.record { $0.totals.connectionsOpened += 1 }
  }

  func closed(_ connection: Connection) {
    _ = open.withLock { $0.remove(OpenSocket(descriptor: connection.descriptor)) }
    // Wakes those that wait for it.
    ledger.record { _ in }
  }

  /// Ends every wait of every connection, now and from now on.
  func stop() {
    stopping.open()
  }

  var isStopping: Bool { stopping.isOpen }

  /// Waits and answers as the request's path asks.
  ///
  /// - Returns: False to close the connection without an answer.
  func answer(_ exchange: Exchange, on connection: Connection) -> Bool {
    guard let request = exchange.request else { return false }
    let (response, latches) = response(to: request)
    let reader = BodyReader(
      response: response, exchange: exchange, connection: connection, latches: latches,
      stopping: stopping)
    guard reader.waitedForHeader() else { return false }
    // No body will be asked for, so the header is the last that the client gets.
    if request.method == "HEAD" || response.delivery.knownLength(of: response.body.count) == 0 {
      exchange.land()
    }
    return connection.start(response, reader: reader)
  }

  private func response(to request: Request) -> (Response, [Latch]) {
    let (known, fallback) = routes.withLock { ($0.behaviours[request.path], $0.fallback) }
    // Outside the lock: the fallback is foreign code and may call back.
    let behaviour = known ?? fallback(request.path, request.query) ?? .status(404)
    return routes.withLock { routes in
      var ordinal = 0
      if behaviour.countsRequests {
        ordinal = routes.answerCounts[request.path, default: 0]
        routes.answerCounts[request.path] = ordinal + 1
      }
      let response = behaviour.response(to: request, ordinal: ordinal)
      let count = response.delivery.releaseCount
      return (response, count > 0 ? routes.latches(of: request.path, count: count) : [])
    }
  }
}

/// The socket of a connection.
struct OpenSocket: Hashable {
  let descriptor: CInt

  /// Whether bytes of the client, or its end, are not read.
  var hasInput: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) > 0
  }
}

/// Keeps the counters and wakes the threads that wait for them to change.
final class Ledger: Sendable {
  private struct State {
    var snapshot = OriginSnapshot()
    var waiters: [ObjectIdentifier: DispatchSemaphore] = [:]
  }

  private let state = Mutex(State())

  var snapshot: OriginSnapshot {
    state.withLock { $0.snapshot }
  }

  @discardableResult
  func record<Result>(_ change: (inout OriginSnapshot) -> Result) -> Result {
    state.withLock { state in
      defer { for waiter in state.waiters.values { waiter.signal() } }
      return change(&state.snapshot)
    }
  }

  /// Waits until the counters meet a condition, which is looked at after every change.
  ///
  /// - Returns: False when they did not within `seconds`.
  func wait(seconds: Double, until condition: (OriginSnapshot) -> Bool) -> Bool {
    let deadline = DispatchTime.now() + seconds
    let change = DispatchSemaphore(value: 0)
    state.withLock { $0.waiters[ObjectIdentifier(change)] = change }
    defer { state.withLock { _ = $0.waiters.removeValue(forKey: ObjectIdentifier(change)) } }
    repeat {
      if isMet(condition) { return true }
    } while change.wait(timeout: deadline) == .success
    return isMet(condition)
  }

  /// Looked at in place: a copy would make the next change copy every counter.
  private func isMet(_ condition: (OriginSnapshot) -> Bool) -> Bool {
    state.withLock { condition($0.snapshot) }
  }
}

/// One entry of the origin's log.
package struct OriginEvent: Sendable, Hashable {
  package enum Kind: Sendable {
    /// The header arrived.
    case started
    /// The last body byte was delivered, or the origin broke off as it was told to.
    case landed
    /// The client left before that; the origin has noticed it now.
    case aborted
  }

  package let kind: Kind
  /// Counts the origin's requests, from 1.
  package let request: Int
  package let path: String
  package let moment: ContinuousClock.Instant
}

extension OriginSnapshot {
  /// The starts from this position of the log on.
  package func starts(from position: Int = 0) -> [OriginEvent] {
    log.dropFirst(position).filter { $0.kind == .started }
  }

  /// The most requests in flight right after a start, of the starts from this position of the log
  /// on.
  ///
  /// - Parameter isCounted: leaves out, by start and end alike, requests whose clients may have died:
  ///   the origin notices that late, when the next ones have begun already.
  package func peakInFlight(
    from position: Int = 0, where isCounted: (OriginEvent) -> Bool = { _ in true }
  ) -> Int {
    var inFlight = 0
    var peak = 0
    for (index, event) in log.enumerated() where isCounted(event) {
      inFlight += event.kind == .started ? 1 : -1
      if index >= position, event.kind == .started { peak = max(peak, inFlight) }
    }
    return peak
  }
}

/// What happened on one path, or on one target with its query.
package struct PathCounters: Sendable, Encodable {
  /// Requests whose header arrived.
  package internal(set) var requests = 0

  /// Body bytes handed to the connection.
  package internal(set) var bytesSent = 0

  /// Requests whose client left before the last body byte was delivered.
  package internal(set) var aborted = 0

  /// Requests without their last body byte, now and at most.
  package internal(set) var inFlight = 0
  package internal(set) var peakInFlight = 0

  /// Header fields of the last request, under lowercased names.
  package internal(set) var headersSeen: [String: String] = [:]

  /// Requests by method.
  package internal(set) var methods: [String: Int] = [:]

  /// The `Range` fields seen, in order.
  package internal(set) var ranges: [String] = []
}

/// What happened on all paths together.
package struct OriginTotals: Sendable, Encodable {
  package internal(set) var requests = 0
  package internal(set) var bytesSent = 0
  package internal(set) var aborted = 0
  package internal(set) var inFlight = 0
  package internal(set) var peakInFlight = 0
  package internal(set) var connectionsOpened = 0
}

/// Everything the origin counted up to one moment.
package struct OriginSnapshot: Sendable, Encodable {
  /// By path and, for a request with a query, by its full target too. From the 100,000th entry on,
  /// requests for names not yet listed show in the totals only.
  package internal(set) var paths: [String: PathCounters] = [:]

  package internal(set) var totals = OriginTotals()

  /// The paths in the order their requests arrived, the first 10,000.
  package internal(set) var startOrder: [String] = []

  /// The starts and ends of requests in their order, the first 100,000. Not encoded, because
  /// moments of this process mean nothing to a reader of the text.
  package internal(set) var log: [OriginEvent] = []

  private enum CodingKeys: String, CodingKey {
    case paths, totals, startOrder
  }

  /// The counters of a path or of a full target; zeros for one never asked for.
  package subscript(_ target: String) -> PathCounters {
    paths[target] ?? PathCounters()
  }
}

extension OriginSnapshot {
  private static let pathCapacity = 100_000
  private static let listCapacity = 10_000
  private static let logCapacity = 100_000

  /// - Returns: the number of the request, which names it when it ends.
  mutating func started(_ request: Request) -> Int {
    totals.requests += 1
    totals.inFlight += 1
    totals.peakInFlight = max(totals.peakInFlight, totals.inFlight)
    note(.started, totals.requests, request)
    if startOrder.count < Self.listCapacity { startOrder.append(request.path) }
    update(request.countedNames) { counters in
      counters.requests += 1
      counters.inFlight += 1
      counters.peakInFlight = max(counters.peakInFlight, counters.inFlight)
      counters.headersSeen = request.headers
      counters.methods[request.method, default: 0] += 1
      if let range = request.headers["range"], counters.ranges.count < Self.listCapacity {
        counters.ranges.append(range)
      }
    }
    return totals.requests
  }

  mutating func sent(_ byteCount: Int, for request: Request) {
    totals.bytesSent += byteCount
    update(request.countedNames) { $0.bytesSent += byteCount }
  }

  mutating func ended(_ number: Int, _ kind: OriginEvent.Kind, _ request: Request) {
    totals.inFlight -= 1
    update(request.countedNames) { $0.inFlight -= 1 }
    note(kind, number, request)
    guard kind == .aborted else { return }
    totals.aborted += 1
    update(request.countedNames) { $0.aborted += 1 }
  }

  private mutating func note(_ kind: OriginEvent.Kind, _ number: Int, _ request: Request) {
    guard log.count < Self.logCapacity else { return }
    log.append(OriginEvent(kind: kind, request: number, path: request.path, moment: .now))
  }

  private mutating func update(_ names: [String], _ change: (inout PathCounters) -> Void) {
    for name in names where paths[name] != nil || paths.count < Self.pathCapacity {
      change(&paths[name, default: PathCounters()])
    }
  }
}

extension Request {
  fileprivate var countedNames: [String] {
    query.map { [path, "\(path)?\($0)"] } ?? [path]
  }
}
