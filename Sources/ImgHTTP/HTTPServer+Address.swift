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
