import CLinux
import Glibc
import ImgSystem
import Synchronization

/// Opens TCP sockets that listen.
enum InternetListener {
  /// How long the kernel waits for an acknowledgement of what it has sent, before it closes a connection
  /// (tcp(7), TCP_USER_TIMEOUT). It finds clients that have vanished while their connection waits.
  private static let acknowledgementMilliseconds: CInt = 60_000

  /// A non-blocking socket. The IPv6 address `::` also accepts IPv4.
  static func open(_ address: SocketAddress) throws(SystemError) -> OwnedDescriptor {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let socket = OwnedDescriptor(
      adopting: try systemCall("socket") { Glibc.socket(address.family, type, 0) })
    let descriptor = socket.rawValue
    // Connections of an earlier server, which are in TIME-WAIT, do not stop this one (socket(7)).
    try set(SOL_SOCKET, SO_REUSEADDR, to: 1, of: descriptor)
    if address.family == AF_INET6 {
      let isAnyAddress = address.ip.allSatisfy { $0 == 0 }
      try set(CInt(IPPROTO_IPV6), IPV6_V6ONLY, to: isAnyAddress ? 0 : 1, of: descriptor)
    }
    // Connections inherit these.
    try set(SOL_SOCKET, SO_KEEPALIVE, to: 1, of: descriptor)
    try set(
      CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, to: acknowledgementMilliseconds, of: descriptor)
    _ = try systemCall("bind") { unsafe address.withPointer { unsafe bind(descriptor, $0, $1) } }
    _ = try systemCall("listen") { listen(descriptor, ListeningSocket.backlog) }
    return socket
  }

  private static func set(
    _ level: CInt, _ name: CInt, to value: CInt, of socket: CInt
  ) throws(SystemError) {
    var value = value
    let size = socklen_t(MemoryLayout<CInt>.size)
    _ = try systemCall("setsockopt") { unsafe setsockopt(socket, level, name, &value, size) }
  }
}

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
        case EADDRINUSE: ": another program listens there"
        case EACCES: ": ports below 1024 need a right"
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

/// The listening sockets that a service manager passes to a program (sd_listen_fds(3)).
package enum PassedSockets {
  /// The number of the first one: SD_LISTEN_FDS_START.
  private static let first: Int32 = 3
  /// More than this many are a mistake.
  private static let maximumCount: Int32 = 64

  /// The descriptors that the environment names.
  ///
  /// - Parameters:
  ///   - environment: the variables LISTEN_PID and LISTEN_FDS count.
  ///   - process: the id of this process. A variable for another process means nothing here.
  /// - Returns: the descriptors; none if there are none for this process.
  /// - Throws: if LISTEN_FDS is no number from 0 to 64.
  package static func descriptors(
    in environment: [String: String], process: Int32
  ) throws(HTTPServerError) -> [Int32] {
    guard environment["LISTEN_PID"] == String(process) else { return [] }
    let text = environment["LISTEN_FDS"] ?? ""
    guard let count = Int32(text), (0...maximumCount).contains(count) else {
      throw HTTPServerError(
        "LISTEN_FDS is “\(text)”: it must be a number from 0 to \(maximumCount)")
    }
    return Array(first..<first + count)
  }
}

/// The address of an internet socket, as bind(2), accept(2) and getsockname(2) have it.
struct SocketAddress {
  private(set) var storage = sockaddr_storage()
  private(set) var size = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// Lets a call fill in the address.
  init<E: Error>(
    filledIn call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) throws(E) ->
      Void
  ) throws(E) {
    try unsafe withUnsafeMutablePointer(to: &storage) { storage throws(E) in
      try unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(E) in
        try unsafe call(address, &size)
      }
    }
  }

  /// - Parameter ip: 4 or 16 bytes in network order.
  init(ip: [UInt8], port: UInt16) {
    if ip.count == 4 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: ip) }
      copy(address)
    } else {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: ip) }
      copy(address)
    }
  }

  private mutating func copy<Address>(_ address: Address) {
    unsafe withUnsafeMutableBytes(of: &storage) { storage in
      unsafe withUnsafeBytes(of: address) { unsafe storage.copyMemory(from: $0) }
    }
    size = socklen_t(MemoryLayout<Address>.size)
  }

  /// AF_INET, AF_INET6 or AF_UNIX.
  var family: CInt { CInt(storage.ss_family) }

  /// The port; 0 for a Unix socket.
  var port: UInt16 {
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      switch family {
      case AF_INET: UInt16(bigEndian: unsafe bytes.load(as: sockaddr_in.self).sin_port)
      case AF_INET6: UInt16(bigEndian: unsafe bytes.load(as: sockaddr_in6.self).sin6_port)
      default: 0
      }
    }
  }

  /// The IP address, 4 or 16 bytes in network order; empty for a Unix socket.
  var ip: [UInt8] {
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      switch family {
      case AF_INET:
        unsafe withUnsafeBytes(of: bytes.load(as: sockaddr_in.self).sin_addr) { unsafe Array($0) }
      case AF_INET6:
        unsafe withUnsafeBytes(of: bytes.load(as: sockaddr_in6.self).sin6_addr) { unsafe Array($0) }
      default: []
      }
    }
  }

  /// The path of a Unix socket; empty for one without a file.
  var path: String {
    guard family == AF_UNIX, size > socklen_t(MemoryLayout<sa_family_t>.size) else { return "" }
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      let path = unsafe bytes[MemoryLayout<sa_family_t>.size..<Int(size)]
      return unsafe String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Makes a call with the address.
  func withPointer<Result>(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var storage = storage
    return unsafe withUnsafePointer(to: &storage) { storage in
      unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, size) }
    }
  }
}
