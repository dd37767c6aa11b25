import CLinux
import Glibc

/// Unix stream sockets: connecting and moving bytes.
package enum UnixSocket {
  /// What became of an attempt to receive.
  package enum ReceiveResult: Hashable, Sendable {
    /// So many bytes, at least one.
    case received(Int)
    /// None are there now, on a non-blocking socket.
    case wouldBlock
    /// None will come any more.
    case closed
  }

  /// A blocking connection to the listener at `path`.
  ///
  /// - Throws: ENOENT and ECONNREFUSED when nobody listens there, ENAMETOOLONG for a path that does
  ///   not fit a socket address (107 bytes, unix(7)).
  package static func connect(path: String) throws(SystemError) -> OwnedDescriptor {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_unix_socket() })
    _ = try pathCall("connect", path) { unsafe img_unix_connect(socket.rawValue, path) }
    return socket
  }

  /// Whether a process listens at `path`, also one that accepts no more connections for now. Does
  /// not wait.
  package static func hasListener(path: String) throws(SystemError) -> Bool {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_unix_socket() })
    try setNonBlocking(socket.rawValue, true)
    do throws(SystemError) {
      _ = try pathCall("connect", path) { unsafe img_unix_connect(socket.rawValue, path) }
      return true
    } catch {
      // EAGAIN: as many connections wait as the listener lets wait (unix(7)).
      return error.code == EAGAIN
    }
  }

  /// Removes the file of a socket that nobody listens on any more. None there is no error.
  ///
  /// - Throws: EEXIST when something else is there: it is not ours to remove.
  package static func removeFile(at path: String) throws(SystemError) {
    do throws(SystemError) {
      guard try FileStatus(at: path).isSocket else {
        throw SystemError(operation: "\(path) is no socket", code: EEXIST)
      }
      _ = try pathCall("unlink", path) { unsafe unlink(path) }
    } catch {
      if error.code != ENOENT { throw error }
    }
  }

  /// Two blocking sockets connected with each other.
  package static func pair() throws(SystemError) -> SocketPair {
    try SocketPair()
  }

  /// Who is at the other end: SO_PEERCRED.
  package static func credentials(of descriptor: CInt) throws(SystemError) -> PeerCredentials {
    var credentials = img_peer_credentials()
    _ = try systemCall("getsockopt SO_PEERCRED") {
      unsafe img_get_peer_credentials(descriptor, &credentials)
    }
    return PeerCredentials(
      processID: credentials.process, userID: credentials.user, groupID: credentials.group)
  }

  /// Chooses whether calls on the open file give up instead of waiting.
  package static func setNonBlocking(
    _ descriptor: CInt, _ isNonBlocking: Bool
  ) throws(SystemError) {
    let flags = try systemCall("fcntl F_GETFL") { fcntl(descriptor, F_GETFL) }
    let wanted = isNonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
    guard wanted != flags else { return }
    _ = try systemCall("fcntl F_SETFL") { fcntl(descriptor, F_SETFL, wanted) }
  }

  /// Appends what has arrived to `buffer`, at most `maximumByteCount` bytes.
  ///
  /// A peer that vanished with bytes of ours unread (ECONNRESET) counts as closed.
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

  /// The same, and the descriptor that came with the bytes, which ``receive(_:into:upTo:)`` drops.
  ///
  /// Bytes that were sent with a descriptor are the last of what one call appends (the loop of
  /// `unix_stream_read_generic` in Linux); what was sent before them may stand in front of them.
  ///
  /// - Parameter passed: the descriptor, close-on-exec; `nil` when none came.
  /// - Throws: EPROTO when several came at once, and EMFILE when this process may not open the one
  ///   that came; then none of them stays open.
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

  /// Sends bytes; on a non-blocking socket possibly fewer than given.
  ///
  /// - Parameter passed: a descriptor that goes with the first byte, and so was sent when any was;
  ///   the receiver gets one of its own for the same open file. There must be a byte.
  /// - Returns: how many were sent, or `nil` when none can be now.
  /// - Throws: EPIPE or ECONNRESET when the other end is gone; never raises SIGPIPE. ETOOMANYREFS
  ///   when more descriptors of this user are on their way than a process may have open (unix(7)).
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

  /// Waits until a receive would not block: bytes, the end, or an error are there.
  ///
  /// - Returns: `false` when `deadline` passed first; `nil` waits for ever.
  package static func waitReadable(
    _ descriptor: CInt, until deadline: ContinuousClock.Instant?
  ) throws(SystemError) -> Bool {
    try waitForEvents(POLLIN, on: descriptor, until: deadline)
  }

  /// Waits until a send would not block: there is room, or an error.
  ///
  /// - Returns: `false` when `deadline` passed first; `nil` waits for ever.
  package static func waitWritable(
    _ descriptor: CInt, until deadline: ContinuousClock.Instant?
  ) throws(SystemError) -> Bool {
    try waitForEvents(CInt(POLLOUT), on: descriptor, until: deadline)
  }
}
