/// What answers the requests of a server.
package protocol HTTPHandler: Sendable {
  /// Answers a request. Is called on a thread of the server, where it must not block: other connections
  /// wait meanwhile.
  func answer(to request: HTTPRequest) -> HTTPAnswer
}

/// The answer to a request: at hand, or not yet.
package enum HTTPAnswer: Sendable {
  case response(HTTPResponse)
  /// The connection waits without a thread. The task of the closure is cancelled when the client leaves,
  /// and when the server stops.
  case later(@Sendable () async -> HTTPResponse)
}
