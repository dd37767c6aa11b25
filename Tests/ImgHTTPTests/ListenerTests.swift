import Glibc
import ImgSystem
import TestFiles
import TestHTTP
import Testing

@testable import ImgHTTP

/// Where a server listens.
@Suite(.timeLimit(.minutes(1)))
struct ListenerTests {
  private func checkResponse(of address: HTTPServer.Address) async throws {
    var client = try RawClient(to: address)
    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try await client.receive().status == 200)
  }

  @Test(arguments: [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1")])
  func `a server listens on an address`(host: String, ip: String) async throws {
    try await withServer({ $0.listener = .tcp(host: host, port: 0) }, respond: echo) { server in
      guard case .tcp(ip, let port) = server.address else {
        Issue.record("\(server.address)")
        return
      }
      #expect(server.address.description.hasSuffix(":\(port)"))
      try await checkResponse(of: server.address)
    }
  }

  @Test func `all addresses of IPv6 include those of IPv4`() async throws {
    try await withServer({ $0.listener = .tcp(host: "::", port: 0) }, respond: echo) { server in
      guard case .tcp("::", let port) = server.address else {
        Issue.record("\(server.address)")
        return
      }
      for host in ["127.0.0.1", "::1"] {
        try await checkResponse(of: .tcp(host: host, port: port))
      }
    }
  }

  @Test func `a port that is in use is an error that names it`() async throws {
    try await withServer(respond: echo) { server in
      guard case .tcp(let host, let port) = server.address else { return }
      let error = #expect(throws: HTTPServerError.self) {
        try HTTPServer(
          .init(listener: .tcp(host: host, port: port)), handler: TestHandler(respond: echo))
      }
      #expect(error?.description.contains("\(port)") == true)
    }
  }

  @Test func `a host that is no address is an error`() {
    #expect(throws: HTTPServerError.self) {
      try HTTPServer(
        .init(listener: .tcp(host: "example.org", port: 0)), handler: TestHandler(respond: echo))
    }
  }

  @Test(arguments: [0o600, 0o660] as [UInt32])
  func `a socket file has its mode, and goes with the server`(mode: UInt32) async throws {
    let directory = TestDirectory()
    let path = directory.file("http.sock")
    let listener = HTTPServer.Listener.unix(path: path, mode: mode)
    try await withServer({ $0.listener = listener }, respond: echo) { server in
      #expect(server.address == .unix(path: path))
      var status = stat()
      #expect(unsafe lstat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == mode)
      try await checkResponse(of: server.address)
      #expect(throws: HTTPServerError.self) {
        try HTTPServer(.init(listener: listener), handler: TestHandler(respond: echo))
      }
    }
    #expect(directory.names() == [])
  }

  @Test func `a socket file queues as many connections as a port`() async throws {
    let directory = TestDirectory()
    let gate = Gate()
    try await withServer {
      $0.listener = .unix(path: directory.file("http.sock"), mode: 0o600)
      $0.limits.connections = 1
    } respond: { _ in
      .later {
        await gate.wait()
        return .text("open")
      }
    } _: { server in
      var client = try RawClient(to: server.address, sending: "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      try await until { server.statistics.waitingRequests == 1 }
      // A connection that finds no room in the queue is an error.
      let queued = try Clients(count: 500, of: server)
      #expect(server.statistics.acceptedConnections == 1)
      gate.open()
      #expect(try await client.receive().status == 200)
      withExtendedLifetime(queued) {}
    }
  }

  @Test func `a socket file of a server that died is replaced, another file is not`() async throws {
    let directory = TestDirectory()
    let path = directory.file("http.sock")
    try makeStaleSocket(path)
    try await withServer({ $0.listener = .unix(path: path) }, respond: echo) { server in
      try await checkResponse(of: server.address)
    }
    let file = try directory.write([1], to: "file")
    #expect(throws: HTTPServerError.self) {
      try HTTPServer(.init(listener: .unix(path: file)), handler: TestHandler(respond: echo))
    }
    #expect(directory.names() == ["file"])
  }

  @Test func `a server takes over a socket that listens`() async throws {
    let socket = try listeningSocket()
    try await withServer({ $0.listener = .descriptor(socket) }, respond: echo) { server in
      try await checkResponse(of: server.address)
    }
  }

  @Test func `a descriptor that does not listen is an error`() throws {
    let unconnected = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    for descriptor in [unconnected, -1, 100_000] {
      #expect(throws: HTTPServerError.self) {
        try HTTPServer(
          .init(listener: .descriptor(descriptor)), handler: TestHandler(respond: echo))
      }
    }
  }

  @Test func `the sockets that a service manager passes`() throws {
    let environment = ["LISTEN_PID": "7", "LISTEN_FDS": "2"]
    #expect(try PassedSockets.descriptors(in: environment, process: 7) == [3, 4])
    #expect(try PassedSockets.descriptors(in: environment, process: 8) == [])
    #expect(try PassedSockets.descriptors(in: [:], process: 7) == [])
    for count in ["", "-1", "65", "x"] {
      #expect(throws: HTTPServerError.self) {
        try PassedSockets.descriptors(in: ["LISTEN_PID": "7", "LISTEN_FDS": count], process: 7)
      }
    }
  }

  /// A socket file without a process behind it.
  private func makeStaleSocket(_ path: String) throws {
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let code = unsafe withUnsafePointer(to: address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0)
  }

  /// On a free port of 127.0.0.1.
  private func listeningSocket() throws -> CInt {
    let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = unsafe withUnsafePointer(to: address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0)
    try #require(listen(socket, 16) == 0)
    return socket
  }
}

struct DrainTests {
  private let events: EventSet
  private let drains: Drains

  init() throws {
    events = try EventSet()
    drains = Drains(events: events)
  }

  /// Gives the server's end of a connection to the drains several times, and closes it.
  ///
  /// - Returns: the client's end.
  private func client(drainCount: Int) throws -> OwnedDescriptor {
    var pair = try UnixSocket.pair()
    let client = pair.takeFirst()
    let server = pair.takeSecond()
    for _ in 0..<drainCount { drains.add(server.rawValue) }
    return client
  }

  @Test func `a drain keeps its connection until its time is over`() throws {
    let client = try client(drainCount: 1)
    var received: [UInt8] = []
    #expect(try UnixSocket.receive(client.rawValue, into: &received, upTo: 1) == .closed)
    #expect(try UnixSocket.send(client.rawValue, [1, 2, 3]) == 3)
    drains.closeLate(at: MonotonicClock.nanoseconds())
    #expect(!drains.isEmpty)
    drains.closeLate(at: MonotonicClock.nanoseconds() + 6_000_000_000)
    #expect(drains.isEmpty)
    #expect(throws: SystemError.self) { try UnixSocket.send(client.rawValue, [4]) }
  }

  @Test func `drains end when their clients close, and there are only so many`() throws {
    do {
      let client = try client(drainCount: 100)
      #expect(events.wait(milliseconds: 0) == [])
      _ = client
    }
    let tokens = events.wait(milliseconds: 0)
    #expect(tokens.count == 64)
    for token in tokens { drains.handleInput(token: token) }
    #expect(drains.isEmpty)
  }
}
