public import Glibc
import Synchronization

/// Answers for host names, which libcurl gets in place of the system's.
enum FakeResolver {
  private struct Name {
    var answers: [[String]]
    var queryCount = 0
    var isHeld = false
  }

  private typealias Resolve =
    @convention(c) @Sendable (
      UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?, List?
    ) -> CInt
  typealias List = UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>

  private static let names = Mutex<[String: Name]>([:])
  /// Locked while a name is held.
  private static let gate = Mutex(())

  /// Gives a name its answers: the first for the first query, and so on; the last one for all that
  /// follow.
  /// - Parameter answers: IPv4 addresses each; without any, the name does not exist.
  static func serve(_ name: String, _ answers: [String]...) {
    names.withLock { $0[name] = Name(answers: answers) }
  }

  /// Has the queries for a name wait until `body` returns.
  static func holding(_ name: String, while body: () throws -> Void) throws {
    try gate.withLock { _ in
      names.withLock { $0[name]?.isHeld = true }
      defer { names.withLock { $0[name]?.isHeld = false } }
      try body()
    }
  }

  static func queryCount(of name: String) -> Int {
    names.withLock { $0[name]?.queryCount ?? 0 }
  }

  fileprivate static func nextAnswer(for name: String) -> [String]? {
    if names.withLock({ $0[name]?.isHeld == true }) { gate.withLock { _ in } }
    return names.withLock { names in
      guard let entry = names[name] else { return nil }
      names[name]?.queryCount += 1
      return entry.answers[min(entry.queryCount, entry.answers.count - 1)]
    }
  }

  /// The C library's `getaddrinfo` (dlsym(3)).
  private static let next: Resolve = {
    let nextLibrary = unsafe UnsafeMutableRawPointer(bitPattern: -1)
    guard let address = unsafe dlsym(nextLibrary, "getaddrinfo") else {
      preconditionFailure("no library has getaddrinfo")
    }
    return unsafe unsafeBitCast(address, to: Resolve.self)
  }()

  fileprivate static func resolve(
    _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?,
    _ hints: UnsafePointer<addrinfo>?, _ result: List?
  ) -> CInt {
    guard let answer = unsafe name.map({ unsafe String(cString: $0) }).flatMap(nextAnswer) else {
      return unsafe next(name, service, hints, result)
    }
    guard !answer.isEmpty else { return EAI_NONAME }
    // The C library frees every entry of a list by itself, so lists may be chained.
    var end = unsafe result
    for address in answer {
      let code = unsafe next(address, service, hints, end)
      guard code == 0 else { return code }
      while let entry = unsafe end?.pointee { unsafe end = withAddress(of: entry) }
    }
    return 0
  }

  private static func withAddress(of entry: UnsafeMutablePointer<addrinfo>) -> List? {
    unsafe UnsafeMutableRawPointer(entry)
      .advanced(by: MemoryLayout<addrinfo>.offset(of: \.ai_next) ?? 0)
      .assumingMemoryBound(to: UnsafeMutablePointer<addrinfo>?.self)
  }
}

/// `getaddrinfo`. The manifest makes the linker export it, so that libcurl finds it before the C
/// library's.
@c(getaddrinfo)
public func resolveByTest(
  _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?,
  _ hints: UnsafePointer<addrinfo>?,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
) -> CInt {
  unsafe FakeResolver.resolve(name, service, hints, result)
}

/// A loopback port below HTTP: for what no HTTP server would do, and for other loopback addresses
/// than a server's.
final class RawListener {
  private let listener: CInt
  private var connections: [CInt] = []
  private var received: [UInt8] = []
  private var address = sockaddr_in()

  /// - Parameters:
  ///   - host: the last two bytes of an address in 127.0.0.0/8.
  ///   - port: 0 for a free one.
  init(host: UInt16 = 1, port: UInt16 = 0) throws {
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

  var port: UInt16 { UInt16(bigEndian: address.sin_port) }

  var baseURL: String {
    let host = UInt32(bigEndian: address.sin_addr.s_addr)
    return "http://127.0.\(host >> 8 & 0xFF).\(host & 0xFF):\(port)"
  }

  /// Fills the queue of connections that wait to be accepted: the kernel drops the first packet of
  /// the next one, which never comes to stand.
  func fillQueue() throws {
    let connection = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try check(connection)
    connections.append(connection)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try check(unsafe withAddress { unsafe connect(connection, $0, size) })
  }

  /// Accepts a connection if one waits.
  func acceptsConnection() -> Bool {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return false }
    connections.append(connection)
    return true
  }

  /// Accepts a connection if one waits, sends `text` whatever was asked, and ends the stream.
  func answer(with text: String) {
    answer(with: Array(text.utf8))
  }

  /// - Parameter bytes: no more than the kernel takes at once.
  func answer(with bytes: [UInt8]) {
    guard acceptsConnection(), let connection = connections.last else { return }
    _ = unsafe send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    shutdown(connection, CInt(SHUT_WR))
  }

  /// Sends `text`, no more than the kernel takes at once, on the connection accepted last.
  func say(_ text: String) {
    guard let connection = connections.last else { return }
    let bytes = Array(text.utf8)
    _ = unsafe send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
  }

  /// How many heads of requests have come in, on all connections that were accepted.
  var receivedRequestCount: Int {
    _ = acceptsConnection()
    var buffer = [UInt8](repeating: 0, count: 4_096)
    for connection in connections {
      let count = unsafe recv(connection, &buffer, buffer.count, CInt(MSG_DONTWAIT))
      if count > 0 { received += buffer.prefix(count) }
    }
    return String(decoding: received, as: UTF8.self).split(separator: "\r\n\r\n").count
  }

  func closeConnections() {
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
