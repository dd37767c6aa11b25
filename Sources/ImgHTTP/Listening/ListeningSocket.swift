import CLinux
import Glibc
import ImgSystem
import Synchronization

/// The socket that accepts the connections of a server.
final class ListeningSocket: Sendable {
  private enum Owner: ~Copyable {
    case file(UnixListener)
    case socket(OwnedDescriptor)
    case closed
  }

  /// The connections that the kernel queues. The kernel lowers it to net.core.somaxconn (listen(2)).
  static let backlog: CInt = 1024

  /// Non-blocking. Valid until ``close()``.
  let descriptor: CInt
  let address: HTTPServer.Address
  private let owner: Mutex<Owner>

  private init(descriptor: CInt, address: HTTPServer.Address, owner: consuming sending Owner) {
    self.descriptor = descriptor
    self.address = address
    self.owner = Mutex(owner)
  }

  private init(adopting socket: consuming OwnedDescriptor) throws(SystemError) {
    descriptor = socket.rawValue
    address = try Self.address(of: socket.rawValue)
    owner = Mutex(.socket(socket))
  }

  /// Refuses connections from now on, and removes the socket file.
  func close() {
    owner.withLock { $0 = .closed }
  }

  static func open(_ listener: HTTPServer.Listener) throws(HTTPServerError) -> ListeningSocket {
    switch listener {
    case .tcp(let host, let port): try openPort(host: host, port: port)
    case .unix(let path, let mode): try openFile(path: path, mode: mode)
    case .descriptor(let descriptor): try adopt(descriptor)
    }
  }

  private static func openPort(
    host: String, port: UInt16
  ) throws(HTTPServerError) -> ListeningSocket {
    let numeric = host == "localhost" ? "127.0.0.1" : host
    guard let ip = IPAddress.bytes(parsing: numeric) else {
      throw HTTPServerError("\(host) is not an IP address: use one such as 127.0.0.1 or ::1")
    }
    do {
      return try ListeningSocket(
        adopting: InternetListener.open(SocketAddress(ip: ip, port: port)))
    } catch {
      let advice =
        switch error.code {
        case EADDRINUSE: ": another program listens there; choose another port"
        case EACCES: ": ports below 1024 need a right; choose another port"
        case EADDRNOTAVAIL: ": this machine does not have the address"
        default: ""
        }
      throw HTTPServerError("cannot listen on \(host) port \(port): \(error)\(advice)")
    }
  }

  /// Replaces the socket of a server that has died, not of one that lives.
  private static func openFile(
    path: String, mode: UInt32
  ) throws(HTTPServerError) -> ListeningSocket {
    // An error here, such as no file, is one of listening below, or none.
    if (try? UnixSocket.hasListener(path: path)) == true {
      throw HTTPServerError("cannot listen at \(path): another program listens there")
    }
    do throws(SystemError) {
      try UnixSocket.removeFile(at: path)
      let listener = try UnixListener(path: path, backlog: backlog)
      // The listener starts with mode 0600, so there is no moment at which others may connect
      // against `mode`.
      _ = try systemCall("chmod \(path)") { unsafe chmod(path, mode) }
      let descriptor = listener.descriptor
      return ListeningSocket(
        descriptor: descriptor, address: .unix(path: path), owner: .file(listener))
    } catch {
      throw HTTPServerError("cannot listen at \(path): \(error)")
    }
  }

  private static func adopt(_ descriptor: CInt) throws(HTTPServerError) -> ListeningSocket {
    guard descriptor >= 0, fcntl(descriptor, F_GETFD) >= 0 else {
      throw HTTPServerError("descriptor \(descriptor) is not open")
    }
    let socket = OwnedDescriptor(adopting: descriptor)
    do throws(SystemError) {
      guard try option(SO_ACCEPTCONN, of: descriptor) != 0,
        try option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
      else { throw SystemError(operation: "not a listening stream socket", code: EINVAL) }
      _ = try systemCall("fcntl F_SETFD") { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      try UnixSocket.setNonBlocking(descriptor, true)
      return try ListeningSocket(adopting: socket)
    } catch {
      throw HTTPServerError("cannot listen on descriptor \(descriptor): \(error)")
    }
  }

  private static func option(_ name: CInt, of socket: CInt) throws(SystemError) -> CInt {
    var value: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    _ = try systemCall("getsockopt") { unsafe getsockopt(socket, SOL_SOCKET, name, &value, &size) }
    return value
  }

  private static func address(of socket: CInt) throws(SystemError) -> HTTPServer.Address {
    let name = try unsafe SocketAddress { address, size throws(SystemError) in
      _ = try systemCall("getsockname") { unsafe getsockname(socket, address, size) }
    }
    if let host = IPAddress.text(name.ip) { return .tcp(host: host, port: name.port) }
    guard name.family == AF_UNIX else {
      throw SystemError(operation: "neither a TCP nor a Unix socket", code: EAFNOSUPPORT)
    }
    return .unix(path: name.path)
  }
}
