import Glibc
import Testing

/// A client that sees the bytes of a connection as they are; it waits at most a minute for any.
struct RawClient: ~Copyable {
  enum End {
    case closed
    case reset
    case silent
  }

  private let descriptor: CInt

  /// Read from the socket but not yet asked for.
  private var received: [UInt8] = []

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    try #require(descriptor >= 0)
    var deadline = timeval(tv_sec: 60, tv_usec: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &deadline, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(status == 0)
  }

  deinit {
    close(descriptor)
  }

  /// Sends a request; without further word the connection ends with its answer.
  func request(
    _ target: String, method: String = "GET", headers: [String] = [], body: String = "",
    keepsConnection: Bool = false
  ) {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: origin"] + headers
    if !keepsConnection { lines.append("Connection: close") }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    let sent = unsafe send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    #expect(sent == bytes.count)
  }

  /// What comes up to this text, or up to the end of the connection.
  mutating func text(upTo end: String) -> String {
    let end = Array(end.utf8)
    while received.firstRange(of: end) == nil, receive() > 0 {}
    return take(received.firstRange(of: end)?.upperBound ?? received.count)
  }

  /// Everything until the connection ends, and how it ended.
  mutating func remainder() -> (text: String, end: End) {
    while true {
      let count = receive()
      if count == 0 { return (take(received.count), .closed) }
      if count < 0 { return (take(received.count), errno == ECONNRESET ? .reset : .silent) }
    }
  }

  /// One request on a connection of its own: the answer's header, its body, and how it ended.
  static func fetch(
    _ target: String, from port: UInt16, method: String = "GET", headers: [String] = [],
    body: String = ""
  ) throws -> (header: String, body: String, end: End) {
    var client = try RawClient(port: port)
    client.request(target, method: method, headers: headers, body: body)
    let header = client.text(upTo: "\r\n\r\n")
    let (body, end) = client.remainder()
    return (header, body, end)
  }

  private mutating func receive() -> Int {
    var block = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &block, block.count, 0)
    received += block.prefix(max(0, count))
    return count
  }

  private mutating func take(_ byteCount: Int) -> String {
    defer { received.removeFirst(byteCount) }
    return String(decoding: received.prefix(byteCount), as: UTF8.self)
  }
}
