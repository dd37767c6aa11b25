import ImgHTTP

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
