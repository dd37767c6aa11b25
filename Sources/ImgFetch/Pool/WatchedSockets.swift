internal import CCurl
internal import ImgSystem

/// The sockets of a pool that the poller watches for libcurl, with the transfers that they serve.
struct WatchedSockets {
  private let poller: Poller
  private let tokenBase: UInt64
  private var transfers: [CInt: UInt64] = [:]

  /// - Parameter tokenBase: each socket has the token `tokenBase | UInt64(socket)`, so the low 32
  ///   bits are zero.
  init(poller: Poller, tokenBase: UInt64) {
    precondition(UInt32(truncatingIfNeeded: tokenBase) == 0, "sockets need the low 32 bits")
    self.poller = poller
    self.tokenBase = tokenBase
  }

  /// The socket of an event, with its transfer; `nil` when an earlier event of the same batch has
  /// closed the socket.
  func owner(of readiness: Poller.Readiness) -> (socket: CInt, transfer: UInt64)? {
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
