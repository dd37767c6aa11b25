import Glibc

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
