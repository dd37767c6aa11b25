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
