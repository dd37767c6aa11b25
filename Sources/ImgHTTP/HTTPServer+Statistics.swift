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
