import CMicroHTTPD
import Glibc

/// A loopback port below HTTP: for what no HTTP server would do, and for other loopback addresses
/// than a server's.
package final class RawListener {
  private let listener: CInt
  private var connections: [CInt] = []
  private var received: [UInt8] = []
  private var address = sockaddr_in()

  /// - Parameters:
  ///   - host: the last two bytes of an address in 127.0.0.0/8.
  ///   - port: 0 for a free one.
  package init(host: UInt16 = 1, port: UInt16 = 0) throws {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    listener = socket(AF_INET, type, 0)
    try check(listener)
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = (0x7F00_0000 | UInt32(host)).bigEndian
    address.sin_port = port.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try check(unsafe withAddress { unsafe bind(listener, $0, size) })
    // A queue of 0 still holds one connection.
    try check(listen(listener, 0))
    try check(unsafe withAddress { unsafe getsockname(listener, $0, &size) })
  }

  deinit {
    for descriptor in connections + [listener] { close(descriptor) }
  }

  package var port: UInt16 { UInt16(bigEndian: address.sin_port) }

  package var baseURL: String {
    let host = UInt32(bigEndian: address.sin_addr.s_addr)
    return "http://127.0.\(host >> 8 & 0xFF).\(host & 0xFF):\(port)"
  }

  /// Fills the queue of connections that wait to be accepted: the kernel drops the first packet of
  /// the next one, which never comes to stand.
  package func fillQueue() throws {
    let connection = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try check(connection)
    connections.append(connection)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try check(unsafe withAddress { unsafe connect(connection, $0, size) })
  }

  /// Accepts a connection if one waits.
  package func acceptsConnection() -> Bool {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return false }
    connections.append(connection)
    return true
  }

  /// Accepts a connection if one waits, sends `text` whatever was asked, and ends the stream.
  package func answer(with text: String) {
    answer(with: Array(text.utf8))
  }

  /// - Parameter bytes: no more than the kernel takes at once.
  package func answer(with bytes: [UInt8]) {
    guard acceptsConnection(), let connection = connections.last else { return }
    _ = unsafe send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    shutdown(connection, CInt(SHUT_WR))
  }

  /// Sends `text`, no more than the kernel takes at once, on the connection accepted last.
  package func say(_ text: String) {
    guard let connection = connections.last else { return }
    let bytes = Array(text.utf8)
    _ = unsafe send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
  }

  /// How many heads of requests have come in, on all connections that were accepted.
  package var receivedRequestCount: Int {
    _ = acceptsConnection()
    var buffer = [UInt8](repeating: 0, count: 4_096)
    for connection in connections {
      let count = unsafe recv(connection, &buffer, buffer.count, CInt(MSG_DONTWAIT))
      if count > 0 { received += buffer.prefix(count) }
    }
    return String(decoding: received, as: UTF8.self).split(separator: "\r\n\r\n").count
  }

  package func closeConnections() {
    for connection in connections { close(connection) }
    connections = []
  }

  private func withAddress(_ body: (UnsafeMutablePointer<sockaddr>) -> CInt) -> CInt {
    unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
    }
  }

  private func check(_ result: CInt) throws {
    guard result >= 0 else { throw CallFailed(code: errno) }
  }

  struct CallFailed: Error {
    let code: CInt
  }
}
