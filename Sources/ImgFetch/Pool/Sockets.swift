internal import CCurl
internal import ImgModel
internal import ImgSystem

/// The sockets of the connections that requests were sent on, by their addresses: libcurl says
/// before a request which connection it takes, but not its socket.
///
/// The number of a closed socket is used again for another, so there are never more entries than
/// numbers of open descriptors. The connections that were dropped are not among them, so that libcurl takes others.
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
  private var droppedAt: ContinuousClock.Instant?

  /// As long as libcurl keeps an answer of name servers by itself (CURLOPT_DNS_CACHE_TIMEOUT(3)).
  private static let addressSeconds = 60

  /// No connection that is open now is used again, and no address that is known now.
  func drop(at now: ContinuousClock.Instant) {
    sockets = [:]
    ends = [:]
    droppedAt = now
  }

  /// For how many seconds an answer of name servers holds, so that none holds from before the drop.
  func addressSeconds(at now: ContinuousClock.Instant) -> Int {
    let passed = droppedAt.map { Int((now - $0).components.seconds) }
    return min(passed ?? Self.addressSeconds, Self.addressSeconds)
  }

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

/// The sockets of a pool that the poller watches for libcurl, with the transfers that they serve.
struct WatchedSockets {
  private let poller: Poller
  private let tokenBase: UInt64
  private var transfers: [CInt: TransferID] = [:]

  /// - Parameter tokenBase: each socket has the token `tokenBase | UInt64(socket)`, so the low 32
  ///   bits are zero.
  init(poller: Poller, tokenBase: UInt64) {
    precondition(UInt32(truncatingIfNeeded: tokenBase) == 0, "sockets need the low 32 bits")
    self.poller = poller
    self.tokenBase = tokenBase
  }

  /// The socket of an event, with its transfer; `nil` when an earlier event of the same batch has
  /// closed the socket.
  func owner(of readiness: Poller.Readiness) -> (socket: CInt, transfer: TransferID)? {
    let socket = CInt(truncatingIfNeeded: readiness.token)
    return transfers[socket].map { (socket, $0) }
  }

  /// Has the poller watch a socket as libcurl wants it.
  mutating func apply(_ change: LoopRequests.SocketChange) {
    let socket = change.socket
    guard change.poll != CURL_POLL_REMOVE else {
      if transfers.removeValue(forKey: socket) != nil { poller.unregister(socket) }
      return
    }
    guard let id = change.transferID else { return }
    var interest: Poller.Interest = []
    if change.poll & CURL_POLL_IN != 0 { interest.insert(.read) }
    if change.poll & CURL_POLL_OUT != 0 { interest.insert(.write) }
    let token = tokenBase | UInt64(socket)
    // The kernel refuses only for lack of memory. The transfer then ends by its own time limit,
    // which needs no socket.
    if transfers.updateValue(id, forKey: socket) == nil {
      try? poller.register(socket, interest, token: token)
    } else {
      try? poller.update(socket, interest, token: token)
    }
  }

  mutating func unregisterAll() {
    for socket in transfers.keys { poller.unregister(socket) }
    transfers = [:]
  }
}

extension Poller.Readiness {
  /// The event in libcurl's bits. After a hang-up, reading or writing finds out what happened; that
  /// error is better than the one libcurl makes of CURL_CSELECT_ERR.
  var curlBits: CInt {
    var bits: CInt = 0
    if isReadable || isHungUp { bits |= CURL_CSELECT_IN }
    if isWritable || isHungUp { bits |= CURL_CSELECT_OUT }
    return bits
  }
}
