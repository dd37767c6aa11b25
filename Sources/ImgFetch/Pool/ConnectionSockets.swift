internal import ImgSystem

/// The sockets of the connections that requests were sent on, by their addresses: libcurl says
/// before a request which connection it takes, but not its socket.
///
/// The number of a closed socket is used again for another, so there are never more entries than
/// numbers of open descriptors.
final class ConnectionSockets {
  /// The two ends of a connection.
  struct Ends: Hashable {
    let localAddress: String
    let localPort: Int
    let address: String
    let port: Int
  }

  private var sockets: [Ends: CInt] = [:]
  private var ends: [CInt: Ends] = [:]

  /// A connection is established on one of the sockets that were opened for it.
  func note(_ connection: Ends, among opened: [CInt]) {
    guard
      let socket = opened.last(where: {
        InternetSocket.localPort(of: $0) == connection.localPort
      })
    else { return }
    if let former = ends.updateValue(connection, forKey: socket) { sockets[former] = nil }
    sockets[connection] = socket
  }

  /// Whether a connection that was used before may be used again. Bytes that came before the
  /// request do not answer it: they are a late part of the answer before, or tell of the
  /// connection's end.
  func isReusable(_ connection: Ends) -> Bool {
    sockets[connection].map(InternetSocket.isQuiet) ?? false
  }
}
