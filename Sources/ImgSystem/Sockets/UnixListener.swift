import CLinux
import Glibc

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
