import CLinux
import Glibc
import ImgSystem

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
