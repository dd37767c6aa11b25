import Glibc

/// An address and a port that can be connected to.
package struct PeerAddress: Hashable, Sendable {
  /// Of IPv4 or IPv6, as text.
  package let address: String
  package let port: Int

  package init(address: String, port: Int) {
    self.address = address
    self.port = port
  }
}

/// What a resolver says to a question.
package enum ResolverReply: Hashable, Sendable {
  case answer
  /// It says at once that it cannot answer, or there is none.
  case failure
  /// No reply comes.
  case silence
}

/// Whether this machine reaches others.
package enum Network {
  /// Addresses for documentation (RFC 5737, RFC 3849): they are beyond the default route.
  private static let distantAddresses = ["192.0.2.1", "2001:db8::1"]

  /// Whether the resolver (getaddrinfo(3)) answers a question for a name, with addresses or that there are none.
  /// Blocks.
  package static func resolverAnswers(_ name: String) -> Bool {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(name, nil, &hints, &list)
    if let list = unsafe list { unsafe freeaddrinfo(list) }
    return ![EAI_AGAIN, EAI_SYSTEM, EAI_MEMORY].contains(code)
  }

  /// A resolver that takes longer does not answer.
  private static let longestLookup = Duration.seconds(2)

  /// What a resolver says to a question that each can answer: which addresses the root of all names has, where there
  /// are none. Blocks.
  package static var resolverReply: ResolverReply {
    let start = ContinuousClock.now
    if resolverAnswers(".") { return .answer }
    return start.duration(to: .now) > longestLookup ? .silence : .failure
  }

  /// Whether any network beyond this machine can be sent to. Sends nothing.
  package static var hasRoute: Bool {
    distantAddresses.contains { address in
      let code = connect(
        to: PeerAddress(address: address, port: 9), SOCK_DGRAM, until: .now)
      return ![ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT].contains(code)
    }
  }

  /// Whether the machine at an address accepts or refuses a connection, which is closed at once. Blocks.
  package static func answers(_ peer: PeerAddress, within limit: Duration) -> Bool {
    let code = connect(to: peer, SOCK_STREAM, until: .now + limit)
    return [0, ECONNREFUSED, ECONNRESET].contains(code)
  }

  /// - Returns: the error (connect(2)); 0 without one.
  private static func connect(
    to peer: PeerAddress, _ type: __socket_type, until deadline: ContinuousClock.Instant
  ) -> CInt {
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
    unsafe hints.ai_socktype = CInt(type.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(peer.address, "\(peer.port)", &hints, &list) == 0,
      let entry = unsafe list
    else { return EINVAL }
    defer { unsafe freeaddrinfo(entry) }
    let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = unsafe socket(
      entry.pointee.ai_family, entry.pointee.ai_socktype | flags, 0)
    guard descriptor >= 0 else { return errno }
    let socket = OwnedDescriptor(adopting: descriptor)
    let code = unsafe Glibc.connect(
      socket.rawValue, entry.pointee.ai_addr, entry.pointee.ai_addrlen)
    guard code != 0 else { return 0 }
    guard errno == EINPROGRESS else { return errno }
    let isDone = try? waitForEvents(CInt(POLLOUT), on: socket.rawValue, until: deadline)
    guard isDone == true else { return ETIMEDOUT }
    var result: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    let isKnown = unsafe getsockopt(socket.rawValue, SOL_SOCKET, SO_ERROR, &result, &size) == 0
    return isKnown ? result : errno
  }
}
