import TestHTTP

@testable import ImgHTTP

/// A handler that a test writes as a closure.
struct TestHandler: HTTPHandler {
  let respond: @Sendable (HTTPRequest) -> HTTPAnswer

  func answer(to request: HTTPRequest) -> HTTPAnswer {
    respond(request)
  }
}

/// Starts a server on a free port, lets the test use it, and stops it.
func withServer(
  _ change: (inout HTTPServer.Configuration) -> Void = { _ in },
  respond: @escaping @Sendable (HTTPRequest) -> HTTPAnswer,
  _ test: (HTTPServer) async throws -> Void
) async throws {
  var configuration = HTTPServer.Configuration(listener: .tcp(host: "127.0.0.1", port: 0))
  change(&configuration)
  let server = try HTTPServer(configuration, handler: TestHandler(respond: respond))
  do {
    try await test(server)
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}

/// Answers with the method and the target of the request.
@Sendable func echo(_ request: HTTPRequest) -> HTTPAnswer {
  .response(.text("\(request.method) \(request.target)"))
}

extension HTTPResponse {
  static func text(_ text: String) -> HTTPResponse {
    HTTPResponse(.ok, fields: ["Content-Type": "text/plain"], body: .bytes(Array(text.utf8)))
  }
}

/// Lets tasks of a test wait for each other.
final class Gate: Sendable {
  private let latch = Latch()

  func open() {
    latch.open()
  }

  /// Returns after ``open()``.
  func wait() async {
    await latch.wait()
  }

  /// Returns after ``open()``, or when the task is cancelled, which opens both gates.
  func wait(orCancelled cancelled: Gate) async {
    await withTaskCancellationHandler {
      await wait()
    } onCancel: {
      cancelled.open()
      open()
    }
  }
}

/// Waits until a condition holds that other threads change.
func until(_ condition: () -> Bool) async throws {
  let deadline = ContinuousClock.now + RawClient.patience
  while !condition() {
    guard ContinuousClock.now < deadline else { throw RawClient.Failure.deadline }
    await Task.yield()
  }
}

/// A client for an array, which holds no noncopyable values.
final class Client {
  var socket: RawClient

  init(to address: HTTPServer.Address) throws {
    socket = try RawClient(to: address)
  }
}

/// Many connections.
final class Clients {
  private let clients: [Client]

  init(count: Int, of server: HTTPServer) throws {
    clients = try (0..<count).map { _ in try Client(to: server.address) }
  }

  func send(_ text: String) throws {
    for client in clients { try client.socket.send(text) }
  }

  /// Sends a request on each connection, then receives the responses.
  ///
  /// - Returns: the number of responses with status 200.
  func exchange(_ request: String) async throws -> Int {
    try send(request)
    var count = 0
    for client in clients where try await client.socket.receive().status == 200 { count += 1 }
    return count
  }
}
