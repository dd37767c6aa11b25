import CLinux
import Glibc

/// Unix stream sockets: connecting, sending and receiving.
package enum UnixSocket {
  /// The result of a receive.
  package enum ReceiveResult: Hashable, Sendable {
    /// The number of bytes, at least one.
    case received(Int)
    /// A non-blocking socket has no bytes now.
    case wouldBlock
    /// The peer has closed.
    case closed
  }

  /// Connects to the listener at `path`. The socket is blocking.
  ///
  /// - Parameter deadline: how long to wait while the backlog of the listener is full.
  /// - Throws: ENOENT or ECONNREFUSED without a listener, ENAMETOOLONG for a path that does not fit
  ///   a socket address (107 bytes, unix(7)), EAGAIN at the deadline.
  package static func connect(
    path: String, until deadline: ContinuousClock.Instant = .now + .seconds(30)
  ) throws(SystemError) -> OwnedDescriptor {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_unix_socket() })
    // A blocking connect(2) would wait for a full backlog without a limit.
    try setNonBlocking(socket.rawValue, true)
    while true {
      do throws(SystemError) {
        _ = try pathCall("connect", path) { unsafe img_unix_connect(socket.rawValue, path) }
        break
      } catch  where error.code == EAGAIN && ContinuousClock.now < deadline {
        // No event tells when the backlog has room.
        ThisProcess.pause(for: .milliseconds(10))
      }
    }
    try setNonBlocking(socket.rawValue, false)
    return socket
  }

  /// Whether a process listens at `path`, also one whose backlog is full. Does not block.
  package static func hasListener(path: String) throws(SystemError) -> Bool {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_unix_socket() })
    try setNonBlocking(socket.rawValue, true)
    do throws(SystemError) {
      _ = try pathCall("connect", path) { unsafe img_unix_connect(socket.rawValue, path) }
      return true
    } catch {
      // EAGAIN: the backlog of the listener is full (unix(7)).
      return error.code == EAGAIN
    }
  }

  /// Removes a stale socket file. Succeeds if there is none.
  ///
  /// - Throws: EEXIST if the path is not a socket. It stays.
  package static func removeFile(at path: String) throws(SystemError) {
    do throws(SystemError) {
      guard try FileStatus(at: path).isSocket else {
        throw SystemError(operation: "\(path) is not a socket", code: EEXIST)
      }
      _ = try pathCall("unlink", path) { unsafe unlink(path) }
    } catch {
      if error.code != ENOENT { throw error }
    }
  }

  /// The directory of a socket's path.
  package static func directory(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// Two blocking sockets that are connected to each other.
  package static func pair() throws(SystemError) -> SocketPair {
    try SocketPair()
  }

  /// The credentials of the peer: SO_PEERCRED.
  package static func credentials(of descriptor: CInt) throws(SystemError) -> PeerCredentials {
    var credentials = img_peer_credentials()
    _ = try systemCall("getsockopt SO_PEERCRED") {
      unsafe img_get_peer_credentials(descriptor, &credentials)
    }
    return PeerCredentials(
      processID: credentials.process, userID: credentials.user, groupID: credentials.group)
  }

  /// Sets or clears O_NONBLOCK of the open file.
  package static func setNonBlocking(
    _ descriptor: CInt, _ isNonBlocking: Bool
  ) throws(SystemError) {
    let flags = try systemCall("fcntl F_GETFL") { fcntl(descriptor, F_GETFL) }
    let wanted = isNonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
    guard wanted != flags else { return }
    _ = try systemCall("fcntl F_SETFL") { fcntl(descriptor, F_SETFL, wanted) }
  }

  /// Appends received bytes to `buffer`, at most `maximumByteCount`.
  ///
  /// A peer that closed with unread bytes (ECONNRESET) counts as closed.
  package static func receive(
    _ descriptor: CInt, into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> ReceiveResult {
    precondition(maximumByteCount > 0, "receiving nothing cannot be told from the end")
    return try receiveResult { () throws(SystemError) in
      try unsafe append(to: &buffer, upTo: maximumByteCount, operation: "recv") { bytes in
        unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0)
      }
    }
  }

  /// Appends received bytes, and also receives a descriptor, which ``receive(_:into:upTo:)`` drops.
  ///
  /// Bytes that were sent with a descriptor are the last ones that a call appends (the loop of
  /// `unix_stream_read_generic` in Linux). Bytes that were sent earlier may precede them.
  ///
  /// - Parameter passed: the descriptor, close-on-exec; `nil` if there was none.
  /// - Throws: EPROTO for several descriptors at once, EMFILE if this process has too many open
  ///   files. None of the descriptors stays open then.
  package static func receive(
    _ descriptor: CInt, into buffer: inout [UInt8], upTo maximumByteCount: Int,
    passed: inout OwnedDescriptor?
  ) throws(SystemError) -> ReceiveResult {
    precondition(maximumByteCount > 0, "receiving nothing cannot be told from the end")
    var arrival = img_passed(descriptor: -1, count: 0, is_truncated: false)
    let result = try receiveResult { () throws(SystemError) in
      try unsafe append(to: &buffer, upTo: maximumByteCount, operation: "recvmsg") { bytes in
        unsafe img_receive_passed(descriptor, bytes.baseAddress, bytes.count, &arrival)
      }
    }
    passed = arrival.descriptor >= 0 ? OwnedDescriptor(adopting: arrival.descriptor) : nil
    guard arrival.count <= 1 else {
      throw SystemError(operation: "recvmsg, several descriptors at once", code: EPROTO)
    }
    guard !arrival.is_truncated else {
      throw SystemError(
        operation: "recvmsg, a descriptor", code: arrival.count == 0 ? EMFILE : EPROTO)
    }
    return result
  }

  private static func receiveResult(
    _ call: () throws(SystemError) -> Int
  ) throws(SystemError) -> ReceiveResult {
    do {
      let count = try call()
      return count == 0 ? .closed : .received(count)
    } catch {
      switch error.code {
      case EAGAIN: return .wouldBlock
      case ECONNRESET: return .closed
      default: throw error
      }
    }
  }

  /// Sends bytes, possibly only some of them on a non-blocking socket. Never raises SIGPIPE.
  ///
  /// - Parameter passed: a descriptor to send with the first byte. The receiver gets its own
  ///   descriptor of the same open file. Requires at least one byte.
  /// - Returns: the number of sent bytes; `nil` if the socket is full.
  /// - Throws: EPIPE or ECONNRESET if the peer has closed. ETOOMANYREFS if more descriptors of this
  ///   user are in flight than a process may have open (unix(7)).
  package static func send(
    _ descriptor: CInt, _ bytes: ArraySlice<UInt8>, passing passed: CInt? = nil
  ) throws(SystemError) -> Int? {
    precondition(passed == nil || !bytes.isEmpty, "a descriptor goes with a byte")
    do {
      return try systemCall("send") {
        unsafe bytes.withUnsafeBytes { bytes in
          guard let passed else {
            return unsafe img_send(descriptor, bytes.baseAddress, bytes.count)
          }
          return unsafe img_send_passing(descriptor, bytes.baseAddress, bytes.count, passed)
        }
      }
    } catch {
      if error.code == EAGAIN { return nil }
      throw error
    }
  }

  /// Waits until a receive does not block: there are bytes, the end or an error.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit.
  /// - Returns: `false` if `deadline` passed first.
  package static func waitReadable(
    _ descriptor: CInt, until deadline: ContinuousClock.Instant?
  ) throws(SystemError) -> Bool {
    try waitForEvents(POLLIN, on: descriptor, until: deadline)
  }

  /// Waits until a send does not block: there is space or an error.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit.
  /// - Returns: `false` if `deadline` passed first.
  package static func waitWritable(
    _ descriptor: CInt, until deadline: ContinuousClock.Instant?
  ) throws(SystemError) -> Bool {
    try waitForEvents(CInt(POLLOUT), on: descriptor, until: deadline)
  }
}

/// Accepts connections on a socket file that only its owner may use (mode 0600).
///
/// Removes the file in `deinit`, unless another file has taken its path.
package struct UnixListener: ~Copyable {
  private let socket: OwnedDescriptor
  private let path: String
  private let file: FileStatus

  /// - Parameter backlog: the connections that the kernel queues between two calls of ``accept()``. A further
  ///   client that does not block gets EAGAIN (connect(2)).
  /// - Throws: EADDRINUSE if the path exists; the caller removes a stale socket before.
  ///   ENAMETOOLONG if the path does not fit a socket address.
  package init(path: String, backlog: CInt = 128) throws(SystemError) {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_unix_socket() })
    let descriptor = socket.rawValue
    try UnixSocket.setNonBlocking(descriptor, true)
    // Before bind, which copies the socket's mode to the file, so that other users can never
    // connect.
    _ = try systemCall("fchmod") { fchmod(descriptor, 0o600) }
    _ = try pathCall("bind", path) { unsafe img_unix_bind(descriptor, path) }
    let file: FileStatus
    do {
      file = try FileStatus(at: path)
      _ = try systemCall("listen") { listen(descriptor, backlog) }
    } catch {
      unsafe unlink(path)
      throw error
    }
    self.socket = socket
    self.file = file
    self.path = path
  }

  deinit {
    if isNamed { unsafe unlink(path) }
  }

  /// Whether the socket file is still at its path. Without it, no client can connect.
  package var isNamed: Bool {
    // An inaccessible file may be another one.
    guard let current = try? FileStatus(at: path) else { return false }
    return current.isSameFile(as: file)
  }

  /// Readable while a connection is pending.
  package var descriptor: CInt { socket.rawValue }

  /// The next connection; `nil` if none is pending.
  ///
  /// - Throws: EMFILE, ENFILE or ENOBUFS without resources for one. The connection stays pending.
  package func accept() throws(SystemError) -> AcceptedConnection? {
    do {
      let descriptor = try systemCall("accept4") { img_accept(socket.rawValue) }
      let connection = OwnedDescriptor(adopting: descriptor)
      let credentials = try UnixSocket.credentials(of: descriptor)
      return AcceptedConnection(descriptor: connection, credentials: credentials)
    } catch {
      if error.code == EAGAIN || error.code == ECONNABORTED { return nil }
      throw error
    }
  }
}

/// An accepted connection: a non-blocking socket and the credentials of its peer.
package struct AcceptedConnection: ~Copyable, Sendable {
  private let descriptor: OwnedDescriptor
  package let credentials: PeerCredentials

  init(descriptor: consuming OwnedDescriptor, credentials: PeerCredentials) {
    self.descriptor = descriptor
    self.credentials = credentials
  }

  package consuming func takeDescriptor() -> OwnedDescriptor {
    descriptor
  }
}

/// The two ends of a pair of connected sockets. Each can be taken once. An end that is not taken is
/// closed.
package struct SocketPair: ~Copyable, Sendable {
  private var first: OwnedDescriptor?
  private var second: OwnedDescriptor?

  init() throws(SystemError) {
    var (first, second): (CInt, CInt) = (-1, -1)
    _ = try systemCall("socketpair") { unsafe img_unix_socket_pair(&first, &second) }
    self.first = OwnedDescriptor(adopting: first)
    self.second = OwnedDescriptor(adopting: second)
  }

  package mutating func takeFirst() -> OwnedDescriptor {
    guard let descriptor = first.take() else { preconditionFailure("the first end was taken") }
    return descriptor
  }

  package mutating func takeSecond() -> OwnedDescriptor {
    guard let descriptor = second.take() else { preconditionFailure("the second end was taken") }
    return descriptor
  }
}

/// Ends the directions of a connection: shutdown(2). An error means that they have ended already.
package enum StreamSocket {
  /// Ends both, also for a thread that waits for one.
  package static func shutDown(_ descriptor: CInt) {
    _ = shutdown(descriptor, CInt(SHUT_RDWR))
  }

  /// The end of the input is readable from now on.
  package static func shutDownInput(_ descriptor: CInt) {
    _ = shutdown(descriptor, CInt(SHUT_RD))
  }

  /// The peer gets what was sent, and then the end.
  package static func shutDownOutput(_ descriptor: CInt) {
    _ = shutdown(descriptor, CInt(SHUT_WR))
  }
}

/// The process at the other end of a Unix socket, as the kernel reports it: the one that connected,
/// or that created the pair or the listener.
package struct PeerCredentials: Hashable, Sendable {
  package let processID: Int32
  package let userID: UInt32
  package let groupID: UInt32
}

/// Inspects a connected TCP socket that a library owns, without reading from it.
package enum InternetSocket {
  /// The local port; `nil` if it is not an IP socket.
  package static func localPort(of descriptor: CInt) -> Int? {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let port: in_port_t? = unsafe withUnsafeMutablePointer(to: &address) { storage in
      let code = unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &size)
      }
      guard code == 0 else { return nil }
      switch CInt(unsafe storage.pointee.ss_family) {
      case AF_INET:
        return unsafe storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          unsafe $0.pointee.sin_port
        }
      case AF_INET6:
        return unsafe storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          unsafe $0.pointee.sin6_port
        }
      default: return nil
      }
    }
    return port.map { Int(UInt16(bigEndian: $0)) }
  }

  /// Whether there are no unread bytes and the peer has not closed the connection.
  package static func isQuiet(_ descriptor: CInt) -> Bool {
    var byte: UInt8 = 0
    let count = unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT))
    return count < 0 && errno == EAGAIN
  }
}

/// Sends datagrams to the socket of a service manager.
package enum UnixDatagram {
  /// Sends one datagram. Does not block.
  ///
  /// - Parameter address: an absolute path, or `@` and an abstract name, as in NOTIFY_SOCKET
  ///   (sd_notify(3)).
  /// - Throws: EINVAL for any other address, ENAMETOOLONG for one that is too long (unix(7)).
  package static func send(_ text: String, to address: String) throws(SystemError) {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_datagram_socket() })
    let bytes = Array(text.utf8)
    _ = try pathCall("send a datagram to", address) {
      unsafe bytes.withUnsafeBytes {
        unsafe img_send_datagram(socket.rawValue, address, $0.baseAddress, $0.count)
      }
    }
  }
}

/// Converts IP addresses between text and bytes in network order.
package enum IPAddress {
  /// Reads the syntax of inet_pton(3): four decimal numbers without leading zeros, or IPv6 (RFC
  /// 4291 section 2.2) without brackets or zone.
  ///
  /// - Returns: 4 or 16 bytes; `nil` for anything else.
  package static func bytes(parsing text: String) -> [UInt8]? {
    // C reads only the part before a zero byte.
    guard !text.utf8.contains(0) else { return nil }
    return parse(text, AF_INET, byteCount: 4) ?? parse(text, AF_INET6, byteCount: 16)
  }

  /// The canonical text of 4 or 16 bytes (for IPv6 see RFC 5952); `nil` for other counts.
  package static func text(_ bytes: [UInt8]) -> String? {
    let family: CInt
    switch bytes.count {
    case 4: family = AF_INET
    case 16: family = AF_INET6
    default: return nil
    }
    var characters = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard unsafe inet_ntop(family, bytes, &characters, socklen_t(characters.count)) != nil else {
      return nil
    }
    return String(
      decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func parse(_ text: String, _ family: CInt, byteCount: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    return unsafe inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}
