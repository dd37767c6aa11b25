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

/// Accepts the connections of a server, gives them to event loops, watches those that wait, and reads those that
/// ``Drains`` keeps.
///
/// It does so itself instead of libmicrohttpd, so that an idle event loop gets a connection, the limit of an address
/// leaves out a reverse proxy, and a client that leaves while its request waits is noticed.
///
/// One thread uses it: ``run()``.
struct AcceptThread: ~Copyable {
  static let firstSuspensionToken: UInt64 = 2
  /// Connections above the limit for the moment that others need to close.
  static let maximumExcessCount = 64
  private static let listenerToken: UInt64 = 0
  private static let wakeupToken: UInt64 = 1
  /// Connections to close are looked for at this pace.
  private static let tickNanoseconds: UInt64 = 1_000_000_000
  /// Connections that are accepted before other events have their turn.
  private static let maximumBatchCount = 64
  /// An idle loop gets further connections up to this number.
  private static let fewConnections = 32

  private let core: ServerCore
  private let listener: ListeningSocket
  private let loops: [EventLoop]
  /// When connections to close are looked for, in nanoseconds of the monotonic clock.
  private var nextTick: UInt64 = 0
  /// Whether the listener is in the set of events. It is not while there is no slot for a connection.
  private var isListening = false

  init(core: ServerCore, listener: ListeningSocket, loops: [EventLoop]) {
    self.core = core
    self.listener = listener
    self.loops = loops
  }

  /// Serves until the server has stopped: requests under way finish until the deadline, then those that wait
  /// are cancelled, and all connections close.
  mutating func run() {
    addEvents()
    while core.stopDeadline == nil { handleEvents() }
    stopListening()
    listener.close()
    core.suspensions.drain()
    core.connections.closeWaiting()
    while let deadline = core.stopDeadline, deadline > MonotonicClock.nanoseconds(),
      core.counters.requestsUnderWay > 0
    {
      handleEvents()
    }
    core.suspensions.close()
    for loop in loops { loop.stop() }
    core.drains.close()
  }

  private mutating func addEvents() {
    listen()
    // Fails only without memory, or at the limit of watches of the user (epoll_ctl(2)).
    guard (try? core.events.addReadable(core.wakeup.descriptor, token: Self.wakeupToken)) != nil
    else {
      return core.stop(until: 0)
    }
  }

  private mutating func handleEvents() {
    for token in core.events.wait(milliseconds: timeout()) {
      switch token {
      case Self.listenerToken: acceptConnections()
      case Self.wakeupToken:
        core.wakeup.drain()
        resumeListening()
      case Drains.firstToken...: core.drains.handleInput(token: token)
      default: core.suspensions.handleHangUp(token: token)
      }
    }
    tick()
  }

  /// Each look costs time for every connection.
  private mutating func tick() {
    let now = MonotonicClock.nanoseconds()
    guard now >= nextTick else { return }
    nextTick = now + Self.tickNanoseconds
    core.connections.closeLate(at: now)
    core.drains.closeLate(at: now)
    resumeListening()
  }

  /// After a connection has closed, or a second later: another process may have freed what was short.
  private mutating func resumeListening() {
    if !isListening, core.stopDeadline == nil { listen() }
  }

  private func timeout() -> CInt {
    let now = MonotonicClock.nanoseconds()
    if let deadline = core.stopDeadline {
      let rest = min(deadline > now ? deadline - now : 0, Self.tickNanoseconds)
      return CInt(rest / 1_000_000) + 1
    }
    // A listener that is not watched is tried again at the next tick.
    guard isListening, core.connections.count == 0, core.drains.isEmpty else {
      return CInt(Self.tickNanoseconds / 1_000_000)
    }
    return -1
  }

  private mutating func listen() {
    // A failure is tried again at the next tick.
    isListening =
      (try? core.events.addReadable(listener.descriptor, token: Self.listenerToken)) != nil
  }

  private mutating func stopListening() {
    guard isListening else { return }
    core.events.remove(listener.descriptor)
    isListening = false
  }

  private mutating func acceptConnections() {
    for _ in 0..<Self.maximumBatchCount where isListening {
      guard hasSlot() else { return stopListening() }
      guard acceptConnection() else { return }
    }
  }

  /// Whether there is a slot for one more connection, also because one that waits for a request can close.
  private func hasSlot() -> Bool {
    let limit = core.limits.connections
    if core.connections.count < limit { return true }
    if core.connections.count < limit + Self.maximumExcessCount,
      core.connections.isAnyWaiting
    {
      return true
    }
    core.waitForSlot()
    // One may have closed before the call.
    return core.connections.count < limit
  }

  /// - Returns: `false` if no other connection can be accepted now.
  private mutating func acceptConnection() -> Bool {
    do throws(SystemError) {
      var descriptor: CInt = -1
      let address = try unsafe SocketAddress { address, size throws(SystemError) in
        descriptor = try systemCall("accept4") {
          let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
          return unsafe accept4(listener.descriptor, address, size, CInt(flags))
        }
      }
      add(descriptor, from: address)
      return true
    } catch {
      switch error.code {
      case EAGAIN: return false
      // The process or the system has too many open files, or no memory. A slot is free after a
      // connection has closed.
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        core.waitForSlot()
        stopListening()
        return false
      // The connection failed before it was accepted (accept(2), "Error handling").
      default: return true
      }
    }
  }

  private mutating func add(_ descriptor: CInt, from address: SocketAddress) {
    let loop = chooseLoop()
    let connection = Connection(
      descriptor: descriptor, client: ClientAddress(ip: address.ip), loop: loop,
      limits: core.limits)
    guard core.connections.add(connection) else {
      core.counters.countRefused()
      close(descriptor)
      return
    }
    core.counters.countAccepted()
    if core.connections.count > core.limits.connections {
      core.connections.closeLongestWaiting()
    }
    loops[loop].add(descriptor, from: address)
  }

  /// The position of the first loop that is idle and has few connections. So few connections take one thread, whose
  /// caches are warm, and leave the other processors to the workers. Otherwise that of the loop with the fewest: many
  /// are spread evenly, also while they wait and all loops are idle.
  private func chooseLoop() -> Int {
    let counts = core.connections.countsByLoop
    func count(_ loop: Int) -> Int { counts[loop, default: 0] }
    return loops.indices.first { loops[$0].isIdle && count($0) < Self.fewConnections }
      ?? loops.indices.min { count($0) < count($1) } ?? 0
  }
}
