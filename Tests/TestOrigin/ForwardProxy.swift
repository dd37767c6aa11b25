import CMicroHTTPD
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization

/// A forward proxy on 127.0.0.1: HTTP with CONNECT and with whole URLs (RFC 9110 sections 7.1 and
/// 9.3.6), and SOCKS 5 (RFC 1928), told apart by the first byte.
///
/// It resolves no names: the test says which port of 127.0.0.1 each name stands for. Each connection
/// has a thread of its own and serves one request.
package final class ForwardProxy: Sendable {
  /// What it does with each request.
  package enum Conduct: Sendable {
    case forward
    /// Answers with this status, or with this reply of SOCKS.
    case answer(Int)
    /// Closes the connection without an answer.
    case hangUp
    /// Says nothing until the client ends the connection.
    case stall
  }

  private struct State {
    var hosts: [String: UInt16]
    var conduct = Conduct.forward
    var requests: [String] = []
    var sockets: Set<CInt> = []
    var isStopped = false
  }

  package let port: UInt16
  private let listener: CInt
  /// `user:password` in base64, which requests must have; `nil` for none.
  private let credentials: String?
  private let state: Mutex<State>
  private let running = DispatchGroup()

  /// - Parameters:
  ///   - hosts: the ports of 127.0.0.1 that names and addresses stand for. Others are unreachable.
  ///   - credentials: `user:password` in base64, which requests must have.
  package init(hosts: [String: UInt16], credentials: String? = nil) throws(OriginError) {
    let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = Self.loopback(port: 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(listener, $0, size) == 0 && listen(listener, 64) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else { throw .cannotListen(port: 0) }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    self.credentials = credentials
    state = Mutex(State(hosts: hosts))
    onThread { [self] in accept() }
  }

  /// The requests so far: `CONNECT host:port`, the method and the URL, or `SOCKS host:port`.
  package var requests: [String] { state.withLock { $0.requests } }

  package var conduct: Conduct {
    get { state.withLock { $0.conduct } }
    set { state.withLock { $0.conduct = newValue } }
  }

  /// Closes every connection; returns when their threads have ended. A proxy that is not stopped runs
  /// until the process ends.
  package func stop() {
    state.withLock { state in
      state.isStopped = true
      for socket in state.sockets { shutdown(socket, CInt(SHUT_RDWR)) }
    }
    shutdown(listener, CInt(SHUT_RDWR))
    running.wait()
  }

  /// A serial queue gets a thread at once. A concurrent one waits up to a second for it where tests block the
  /// threads that queues share.
  private func onThread(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "proxy").async(group: running, execute: body)
  }

  // MARK: - Connections

  private func accept() {
    while case let client = Glibc.accept(listener, nil, nil), client >= 0 {
      guard adopt(client) else { continue }
      onThread { [self] in
        serve(client)
        end(client)
      }
    }
    close(listener)
  }

  /// - Returns: `false` when the proxy is stopped, and the socket is closed.
  private func adopt(_ socket: CInt) -> Bool {
    let isStopped = state.withLock { state in
      if !state.isStopped { state.sockets.insert(socket) }
      return state.isStopped
    }
    if isStopped { close(socket) }
    return !isStopped
  }

  private func end(_ socket: CInt) {
    _ = state.withLock { $0.sockets.remove(socket) }
    close(socket)
  }

  private func serve(_ client: CInt) {
    guard let first = read(client, 1) else { return }
    if first == [5] { serveSOCKS(client) } else { serveHTTP(client, first) }
  }

  private func note(_ request: String) -> Conduct {
    state.withLock { state in
      state.requests.append(request)
      return state.conduct
    }
  }

  private func connect(to host: String) -> CInt? {
    guard let port = state.withLock({ $0.hosts[host] }) else { return nil }
    let origin = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = Self.loopback(port: port)
    let isConnected = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.connect(origin, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else {
      close(origin)
      return nil
    }
    return adopt(origin) ? origin : nil
  }

  // MARK: - HTTP

  private func serveHTTP(_ client: CInt, _ first: [UInt8]) {
    var head = first
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let byte = read(client, 1) else { return }
      head += byte
    }
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return }
    switch note("\(words[0]) \(words[1])") {
    case .forward: break
    case .answer(let status):
      return send(client, "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
    case .hangUp: return
    case .stall: return _ = read(client, 1)
    }
    let sent = lines.first { $0.lowercased().hasPrefix("proxy-authorization: basic ") }
    guard credentials == nil || sent?.split(separator: " ").last.map(String.init) == credentials
    else {
      let lines = ["HTTP/1.1 407 No", "Proxy-Authenticate: Basic realm=a", "Content-Length: 0"]
      return send(client, lines.joined(separator: "\r\n") + "\r\n\r\n")
    }
    let isTunnel = words[0] == "CONNECT"
    let target = isTunnel ? words[1] : words[1].dropFirst("http://".count)
    let authority = target.prefix { $0 != "/" }
    guard let origin = connect(to: Self.host(of: authority)) else {
      return send(client, "HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")
    }
    defer { end(origin) }
    if isTunnel {
      send(client, "HTTP/1.1 200 Connected\r\n\r\n")
    } else {
      // The origin closes the connection after its answer, and with it that of the client.
      let fields = lines.dropFirst().filter { !$0.lowercased().hasPrefix("proxy-") }
      let request = [
        "\(words[0]) \(target.dropFirst(authority.count)) HTTP/1.1", "Connection: close",
      ]
      send(origin, (request + fields.map(String.init)).joined(separator: "\r\n") + "\r\n\r\n")
    }
    relay(client, origin)
  }

  private static func host(of authority: Substring) -> String {
    String(authority.hasSuffix("]") ? authority : authority.split(separator: ":").first ?? "")
  }

  // MARK: - SOCKS

  private func serveSOCKS(_ client: CInt) {
    guard let count = read(client, 1), let methods = read(client, Int(count[0])),
      isAdmitted(client, methods)
    else { return }
    guard let request = read(client, 4), let host = host(ofType: request[3], client),
      let port = read(client, 2)
    else { return }
    let number = Int(port[0]) << 8 | Int(port[1])
    switch note("SOCKS \(host):\(number)") {
    case .forward: break
    case .answer(let reply): return send(client, [5, UInt8(reply), 0, 1, 0, 0, 0, 0, 0, 0])
    case .hangUp: return
    case .stall: return _ = read(client, 1)
    }
    let origin = connect(to: host)
    // Host unreachable.
    send(client, [5, origin == nil ? 4 : 0, 0, 1, 0, 0, 0, 0, 0, 0])
    guard let origin else { return }
    defer { end(origin) }
    relay(client, origin)
  }

  /// Agrees on a method, and asks for user and password (RFC 1929) if there are credentials.
  private func isAdmitted(_ client: CInt, _ methods: [UInt8]) -> Bool {
    guard let credentials else {
      send(client, [5, 0])
      return true
    }
    guard methods.contains(2) else {
      send(client, [5, 0xFF])
      return false
    }
    send(client, [5, 2])
    guard let userSize = read(client, 2), let user = read(client, Int(userSize[1])),
      let size = read(client, 1), let password = read(client, Int(size[0]))
    else { return false }
    let isKnown = Data(user + Array(":".utf8) + password).base64EncodedString() == credentials
    send(client, [1, isKnown ? 0 : 1])
    return isKnown
  }

  /// Reads an IPv4 address or a name.
  private func host(ofType type: UInt8, _ client: CInt) -> String? {
    switch type {
    case 1: return read(client, 4)?.map(String.init).joined(separator: ".")
    case 3:
      guard let count = read(client, 1), let name = read(client, Int(count[0])) else { return nil }
      return String(decoding: name, as: UTF8.self)
    default: return nil
    }
  }

  // MARK: - Bytes

  /// Copies both ways until one side ends.
  private func relay(_ client: CInt, _ origin: CInt) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      var entries = [client, origin].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard unsafe poll(&entries, 2, -1) > 0 else { return }
      for (from, to) in [(0, origin), (1, client)] where entries[from].revents != 0 {
        let count = unsafe recv(entries[from].fd, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        send(to, Array(buffer.prefix(count)))
      }
    }
  }

  /// - Returns: `nil` if the connection ends before.
  private func read(_ socket: CInt, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    guard unsafe recv(socket, &bytes, count, CInt(MSG_WAITALL)) == count else { return nil }
    return bytes
  }

  private func send(_ socket: CInt, _ text: String) {
    send(socket, Array(text.utf8))
  }

  private func send(_ socket: CInt, _ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }
}
