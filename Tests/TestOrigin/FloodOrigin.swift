import CMicroHTTPD
import Glibc

/// An HTTP origin on 127.0.0.1 whose answers have no end: to every request it sends a head and then
/// the same bytes again and again, as fast as the client takes them.
///
/// One thread serves all connections. Both end with this object.
@safe package final class FloodOrigin: Sendable {
  package let port: UInt16
  private let listener: CInt
  private let thread: pthread_t

  /// - Parameters:
  ///   - head: of each answer, with its blank line and what of the body comes once.
  ///   - unit: what follows without end, long enough to be worth a system call.
  package init(head: [UInt8], unit: [UInt8]) throws(OriginError) {
    listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let listener = listener
    let code = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard unsafe bind(listener, address, size) == 0, listen(listener, 128) == 0 else {
          return CInt(-1)
        }
        return unsafe getsockname(listener, address, &size)
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    let flood = Flood(listener: listener, headByteCount: head.count, bytes: head + unit)
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(flood).toOpaque()
    let isRunning =
      unsafe code == 0
      && pthread_create(
        &thread, nil,
        { context in
          if let context = unsafe context {
            unsafe Unmanaged<Flood>.fromOpaque(context).takeRetainedValue().run()
          }
          return nil
        }, context) == 0
    self.thread = thread
    guard isRunning else {
      unsafe Unmanaged<Flood>.fromOpaque(context).release()
      throw .cannotListen(port: 0)
    }
  }

  deinit {
    // The thread's poll(2) then tells of a hang-up.
    shutdown(listener, CInt(SHUT_RDWR))
    pthread_join(thread, nil)
    close(listener)
  }

  /// `http://127.0.0.1:PORT`, to which a path is appended.
  package var baseURL: String { "http://127.0.0.1:\(port)" }

  /// An answer that begins like a PNG picture and continues with chunks (RFC 9112 section 7.1) that
  /// repeat `unit` without end.
  package static func chunkedPicture(endingIn unit: String) throws(OriginError) -> FloodOrigin {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"
    // The signature, and the length and the name of the first part (PNG, sections 5.2 and 5.3).
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13]
    let picture = signature + Array("IHDR".utf8) + [UInt8](repeating: 0, count: 240)
    let repeated = String(repeating: unit, count: 120_000 / unit.utf8.count)
    return try FloodOrigin(
      head: Array("\(head)100\r\n".utf8) + picture + Array("\r\n".utf8),
      unit: Array(repeated.utf8))
  }
}

/// What the thread of a ``FloodOrigin`` works with.
private final class Flood {
  private let listener: CInt
  private let headByteCount: Int
  private let bytes: [UInt8]
  /// The position in the bytes that comes next on each connection; `nil` before a request.
  private var connections: [CInt: Int?] = [:]

  init(listener: CInt, headByteCount: Int, bytes: [UInt8]) {
    self.listener = listener
    self.headByteCount = headByteCount
    self.bytes = bytes
  }

  deinit {
    for descriptor in connections.keys { close(descriptor) }
  }

  func run() {
    while true {
      var watched = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
      for (connection, position) in connections {
        let events = Int16(position == nil ? POLLIN : POLLOUT)
        watched.append(pollfd(fd: connection, events: events, revents: 0))
      }
      guard unsafe poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
      if watched[0].revents & Int16(POLLHUP) != 0 { return }
      if watched[0].revents != 0 { takeConnection() }
      for ready in watched.dropFirst() where ready.revents != 0 { serve(ready.fd) }
    }
  }

  private func takeConnection() {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return }
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    connections[connection] = .some(nil)
  }

  private func serve(_ connection: CInt) {
    guard let position = connections[connection] ?? nil else { return takeRequest(connection) }
    let count = unsafe bytes.withUnsafeBytes { bytes in
      unsafe send(
        connection, bytes.baseAddress.map { unsafe $0 + position }, bytes.count - position,
        CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    guard count >= 0 || errno == EAGAIN else { return end(connection) }
    let next = position + max(count, 0)
    connections[connection] = next < bytes.count ? next : headByteCount
  }

  /// The head of a request comes in one piece, because it is short.
  private func takeRequest(_ connection: CInt) {
    var request = [UInt8](repeating: 0, count: 4_096)
    guard unsafe recv(connection, &request, request.count, 0) > 0 else { return end(connection) }
    connections[connection] = 0
  }

  private func end(_ connection: CInt) {
    connections[connection] = nil
    close(connection)
  }
}
