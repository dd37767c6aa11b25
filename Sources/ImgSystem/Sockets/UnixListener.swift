import CLinux
import Glibc

/// Awaits connections on a socket file that only its owner may use (mode 0600).
///
/// At the end of its life it removes the file, unless the path has meanwhile become another's.
package struct UnixListener: ~Copyable {
  /// Connections the kernel keeps for us between two calls of ``accept()``.
  private static let backlog: CInt = 128

  private let socket: OwnedDescriptor
  private let path: String
  private let file: FileStatus

  /// - Throws: EADDRINUSE when the path exists, whatever it is: a socket that a dead listener left
  ///   is the caller's to remove. ENAMETOOLONG when it does not fit a socket address.
  package init(path: String) throws(SystemError) {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_unix_socket() })
    let descriptor = socket.rawValue
    try UnixSocket.setNonBlocking(descriptor, true)
    // Before bind, which gives the file the mode of the socket: there is no moment at which others
    // could connect.
    _ = try systemCall("fchmod") { fchmod(descriptor, 0o600) }
    _ = try pathCall("bind", path) { unsafe img_unix_bind(descriptor, path) }
    let file: FileStatus
    do {
      file = try FileStatus(at: path)
      _ = try systemCall("listen") { listen(descriptor, Self.backlog) }
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

  /// Whether the socket file is at its path still: without it, no client can connect.
  package var isNamed: Bool {
    // A file that cannot be looked at is not known to be ours.
    guard let current = try? FileStatus(at: path) else { return false }
    return current.isSameFile(as: file)
  }

  /// Readable while a connection waits.
  package var descriptor: CInt { socket.rawValue }

  /// The next connection, or `nil` when none waits.
  ///
  /// - Throws: EMFILE, ENFILE and ENOBUFS when the machine has no room for one; it keeps waiting.
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

/// A connection somebody made: a non-blocking socket and who is at its other end.
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
