import ImgSystem
import Synchronization

/// An HTTP/1.1 server (RFC 9112).
///
/// Its threads: one accepts connections, watches those that wait, and drops what clients of refused requests
/// send; ``Configuration/threadCount`` others read requests, call the handler and send responses, each for its
/// share of the connections. Answers that come later are prepared by tasks, on the threads of Swift's
/// concurrency or on that of their connection.
///
/// Any thread may use a server. It stops when it is released.
package final class HTTPServer: Sendable {
  /// Where it listens. A port that the kernel has chosen is in it.
  package let address: Address
  private let core: ServerCore
  private let thread: ServiceThread<Never>
  private let end: Latch

  /// Starts to serve.
  ///
  /// - Throws: ``HTTPServerError`` if it cannot listen, or the process has no room for its threads or
  ///   descriptors.
  package convenience init(_ configuration: Configuration, handler: any HTTPHandler) throws {
    try self.init(configuration) { _ in handler }
  }

  /// Starts to serve with a handler that depends on where the server listens.
  ///
  /// - Parameter makeHandler: is called before the first connection is accepted.
  /// - Throws: ``HTTPServerError`` as above, and what `makeHandler` throws.
  package init(
    _ configuration: Configuration, makeHandler: (Address) throws -> any HTTPHandler
  ) throws {
    precondition(configuration.threadCount > 0, "a server needs a thread")
    let listener = try ListeningSocket.open(configuration.listener)
    let handler = try makeHandler(listener.address)
    do throws(SystemError) {
      let core = try ServerCore(handler: handler, limits: configuration.limits)
      let loops = try Self.startLoops(configuration.threadCount, core: core)
      let end = Latch()
      do throws(SystemError) {
        thread = try ServiceThread(name: "http-accept", capacity: 1) { _ in
          var thread = AcceptThread(core: core, listener: listener, loops: loops)
          thread.run()
          end.open()
        }
      } catch {
        for loop in loops { loop.stop() }
        throw error
      }
      self.core = core
      self.end = end
    } catch {
      throw HTTPServerError("the server cannot start: \(error)")
    }
    address = listener.address
  }

  private static func startLoops(
    _ count: Int, core: ServerCore
  ) throws(SystemError) -> [EventLoop] {
    var loops: [EventLoop] = []
    do throws(SystemError) {
      for _ in 0..<count { loops.append(try EventLoop(core: core)) }
    } catch {
      for loop in loops { loop.stop() }
      throw error
    }
    return loops
  }

  deinit {
    core.stop(until: 0)
  }

  /// Accepts no connection from now on, and returns when all are closed and the threads have ended.
  ///
  /// Requests that are under way finish, and streams end at once. At the deadline, the tasks that prepare
  /// answers are cancelled, and their connections close without one. A second call can make it sooner.
  package func stop(drainingFor duration: Duration = .zero) async {
    core.stop(until: MonotonicClock.nanoseconds() &+ duration.nanoseconds)
    await end.wait()
    thread.join()
  }

  /// What the server has done until now.
  package var statistics: Statistics {
    core.counters.statistics(openConnections: core.connections.count)
  }
}

extension HTTPServer {
  /// Where a server listens.
  package enum Address: Hashable, Sendable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    /// An empty path is that of a socket without a file.
    case unix(path: String)

    /// Whether only this machine can connect.
    package var isLocal: Bool {
      switch self {
      case .tcp(let host, _): host == "::1" || host.hasPrefix("127.")
      case .unix: true
      }
    }

    /// For example `http://127.0.0.1:8080`, `http://[::1]:8080` or `unix:/run/imgctl.sock`.
    package var description: String {
      switch self {
      case .tcp(let host, let port):
        host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
      case .unix(let path): "unix:\(path)"
      }
    }
  }
}

extension HTTPServer {
  /// Where a server listens, and its limits.
  package struct Configuration: Sendable {
    package var listener: Listener
    package var limits = Limits()
    /// The number of threads that read requests and send responses, at least 1.
    package var threadCount = 2

    package init(listener: Listener) {
      self.listener = listener
    }
  }

  /// Where a server listens.
  package enum Listener: Hashable, Sendable {
    /// A TCP port. 0 lets the kernel choose.
    ///
    /// - Parameter host: an IPv4 or IPv6 address without brackets, or `localhost` for 127.0.0.1. `::` also
    ///   accepts IPv4.
    case tcp(host: String, port: UInt16)
    /// A socket file. A stale one is replaced.
    ///
    /// - Parameter mode: who may connect, as for chmod(1).
    case unix(path: String, mode: UInt32 = 0o600)
    /// A listening stream socket that another program has opened, such as systemd (see ``PassedSockets``).
    /// The server takes it over and closes it.
    case descriptor(Int32)
  }

  /// The bounds of what clients can take of a server.
  package struct Limits: Hashable, Sendable {
    /// Connections at once. Further ones wait in the queue of the kernel, once no idle one can be closed.
    package var connections = 4096
    /// Connections of one IP address at once; more are closed. Loopback and Unix sockets have no such limit,
    /// because all clients of a reverse proxy share its address.
    package var connectionsPerAddress = 256
    /// The bytes of the request line and the fields.
    package var headerBytes = 16 << 10
    package var targetBytes = 8 << 10
    /// Requests at once whose answer is ``HTTPAnswer/later(_:_:)`` and not there yet. A further one gets 503.
    package var waitingRequests = 1024
    /// Responses at once that are streams. A further one gets 503.
    package var streams = 256
    /// Those of one IP address, counted as its connections are. A further one gets 503.
    package var streamsPerAddress = 32
    /// The bytes of a stream that wait for a client. No more chunks are taken from it meanwhile.
    package var streamBufferBytes = 64 << 10
    /// How long a connection may be without a request, and a client without reading; in whole seconds, at
    /// least 1.
    package var idleTime: Duration = .seconds(60)
    /// How long a client may take to send a request.
    package var requestTime: Duration = .seconds(20)

    package init() {}
  }
}

extension HTTPServer {
  /// What a server has done since it started.
  package struct Statistics: Hashable, Sendable {
    package var acceptedConnections = 0
    /// Closed at once because their address had too many.
    package var refusedConnections = 0
    package var openConnections = 0
    /// Requests whose header was complete.
    package var requests = 0
    /// Tasks that prepare an answer, see ``HTTPAnswer/later(_:_:)``. A cancelled one counts until it ends.
    package var waitingRequests = 0
    /// Responses under way that are streams.
    package var streams = 0
    /// Bytes of bodies, not of headers.
    package var sentBytes = 0
    /// The number of responses by the first digit of their status. Those of libmicrohttpd itself, to requests
    /// that it cannot parse, are not in it.
    package var responses: [Int: Int] = [:]
  }
}

/// Why a server did not start. The description says what to do.
package struct HTTPServerError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// Lets tasks wait for an event that happens once.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// The event has happened.
  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns after ``open()``.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// What answers the requests of a server.
package protocol HTTPHandler: Sendable {
  /// Answers a request. Is called on a thread of the server, where it must not block: other connections
  /// wait meanwhile.
  func answer(to request: HTTPRequest) -> HTTPAnswer

  /// The response to a request that the server refuses. Is called as ``answer(to:)`` is.
  func response(to refusal: RequestRefusal) -> HTTPResponse

  /// The server begins to send a response. Is called as ``answer(to:)`` is.
  ///
  /// - Parameters:
  ///   - request: `nil` if the server refused the request before ``answer(to:)``.
  ///   - duration: since the header was whole.
  func record(_ status: HTTPStatus, to request: HTTPRequest?, after duration: Duration)
}

extension HTTPHandler {
  /// Records nothing.
  package func record(
    _ status: HTTPStatus, to request: HTTPRequest?, after duration: Duration
  ) {}

  /// The reason as plain text.
  package func response(to refusal: RequestRefusal) -> HTTPResponse {
    var fields: HTTPFields = ["Content-Type": "text/plain; charset=utf-8"]
    if refusal.status == .serviceUnavailable { fields.add("Retry-After", "1") }
    return HTTPResponse(
      refusal.status, fields: fields, body: .bytes(Array("\(refusal.reason)\n".utf8)))
  }
}

/// The answer to a request: at hand, or not yet.
package enum HTTPAnswer: Sendable {
  case response(HTTPResponse)
  case repeated(RepeatedResponse)
  /// The connection waits without a thread. The task of the closure is cancelled when the client leaves,
  /// and when the server stops.
  case later(Executor = .concurrent, @Sendable () async -> HTTPResponse)

  /// What runs the closure of a later answer.
  package enum Executor: Sendable {
    /// Swift's own threads.
    case concurrent
    /// The thread of the connection, which saves two changes of threads. The closure must not block there: other
    /// connections wait meanwhile.
    case connection
  }
}

extension Duration {
  /// Whole nanoseconds, for the monotonic clock; 0 for a negative duration, and at most 292 years.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? UInt64(Int64.max) : UInt64(product) + UInt64(attoseconds) / 1_000_000_000
  }
}
