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
