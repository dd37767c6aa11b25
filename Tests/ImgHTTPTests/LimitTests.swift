import TestHTTP
import Testing

@testable import ImgHTTP

/// What clients can take of a server.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
  private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

  @Test(arguments: ["", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX: "])
  func `a client whose request does not arrive in time is closed`(start: String) async throws {
    try await withServer {
      $0.limits.requestTime = .zero
      $0.limits.idleTime = .seconds(1)
    } respond: {
      echo($0)
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send(start)
      #expect(try await client.receiveRest() == [])
      try await until { server.statistics.openConnections == 0 }
    }
  }

  @Test func `bytes that drip in do not extend the time for a request`() async throws {
    try await withServer {
      $0.limits.requestTime = .milliseconds(100)
    } respond: {
      echo($0)
    } _: { server in
      let client = try RawClient(to: server.address)
      try client.send("GET / HTTP/1.1\r\nHost: x\r\nX: ")
      try await until {
        (try? client.send("a")) == nil || server.statistics.openConnections == 0
      }
    }
  }

  @Test func `a client that does not read a picture is closed`() async throws {
    let body = HTTPBody([UInt8](repeating: 7, count: 16 << 20))
    try await withServer {
      $0.limits.idleTime = .seconds(1)
    } respond: { _ in
      .response(HTTPResponse(.ok, body: .bytes(body)))
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send(Self.request)
      let head = try await client.receive(through: "\r\n\r\n")
      try await until { server.statistics.openConnections == 0 }
      #expect(try await head.count + client.receiveRest().count < body.count)
    }
  }

  @Test func `a full server closes the connection that has waited longest for a request`()
    async throws
  {
    try await withServer {
      $0.limits.connections = 4
    } respond: {
      echo($0)
    } _: { server in
      let idle = try Clients(count: 4, of: server)
      #expect(try await idle.exchange(Self.request) == 4)
      var client = try RawClient(to: server.address)
      try client.send(Self.request)
      #expect(try await client.receive().status == 200)
      try await until { server.statistics.openConnections == 4 }
      withExtendedLifetime(idle) {}
    }
  }

  @Test func `a full server closes an idle connection before one that sends a request`() {
    let table = ConnectionTable(maximumCountPerClient: 1, maximumStreamsPerClient: 1)
    // No descriptors of this process: these connections are shut down.
    let connections = (-4..<0).map {
      Connection(descriptor: $0, client: nil, loop: 0, limits: HTTPServer.Limits())
    }
    for connection in connections { #expect(table.add(connection)) }
    connections[3].waitForRequest()
    connections[0].waitForRequest()
    connections[0].receiveRequest()
    connections[1].waitForRequest()
    connections[2].receiveRequest()
    connections[2].waitForRequest()
    for index in [3, 1, 2, 0] {
      #expect(connections[index].requestDeadline != nil)
      table.closeLongestWaiting()
      #expect(connections[index].requestDeadline == nil, "\(index)")
    }
  }

  @Test func `a full server whose connections all wait for answers accepts one later`() async throws
  {
    let gate = Gate()
    try await withServer {
      $0.limits.connections = 1
    } respond: { request in
      guard request.target == "/later" else { return echo(request) }
      return .later {
        await gate.wait()
        return HTTPResponse(.ok, fields: ["Connection": "close"])
      }
    } _: { server in
      var first = try RawClient(to: server.address)
      try first.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
      try await until { server.statistics.waitingRequests == 1 }
      var second = try RawClient(to: server.address)
      try second.send(Self.request)
      gate.open()
      #expect(try await first.receive().status == 200)
      #expect(try await second.receive().status == 200)
    }
  }

  @Test func `hundreds of idle connections do not delay a request`() async throws {
    try await withServer(respond: echo) { server in
      let idle = try Clients(count: 400, of: server)
      try idle.send("GET / HTTP/1.1\r\nX: ")
      for _ in 0..<20 {
        var client = try RawClient(to: server.address)
        try client.send(Self.request)
        #expect(try await client.receive().status == 200)
      }
      withExtendedLifetime(idle) {}
    }
  }

  @Test func `connections are counted by address, of IPv6 by network`() {
    let ipv4 = ClientAddress(ip: [192, 0, 2, 1])
    #expect(ipv4 != nil)
    #expect(ipv4 != ClientAddress(ip: [192, 0, 2, 2]))
    let mapped: [UInt8] = Array(repeating: 0, count: 10) + [255, 255]
    #expect(ClientAddress(ip: mapped + [192, 0, 2, 1]) == ipv4)
    let network: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 1]
    let first = ClientAddress(ip: network + Array(repeating: 1, count: 8))
    #expect(first == ClientAddress(ip: network + Array(repeating: 2, count: 8)))
    #expect(first != nil)
  }

  @Test(
    arguments: [
      [127, 0, 0, 1], [127, 9, 9, 9], Array(repeating: 0, count: 15) + [1],
      Array(repeating: 0, count: 10) + [255, 255, 127, 0, 0, 1], [],
    ] as [[UInt8]])
  func `a reverse proxy on the same machine has no limit of its own`(ip: [UInt8]) {
    #expect(ClientAddress(ip: ip) == nil)
  }

  @Test func `an address has a limited number of connections`() throws {
    let table = ConnectionTable(maximumCountPerClient: 2, maximumStreamsPerClient: 2)
    let client = ClientAddress(ip: [192, 0, 2, 1])
    func connection(_ descriptor: CInt) -> Connection {
      Connection(
        descriptor: descriptor, client: client, loop: 0, limits: HTTPServer.Limits())
    }
    #expect(table.add(connection(1000)))
    #expect(table.add(connection(1001)))
    #expect(!table.add(connection(1002)))
    table.remove(1000)
    #expect(table.add(connection(1003)))
    #expect(table.count == 2)
  }

  @Test func `an address has a limited number of streams, and leaves those of others`() {
    let table = ConnectionTable(maximumCountPerClient: 9, maximumStreamsPerClient: 2)
    func connection(_ ip: [UInt8]) -> Connection {
      Connection(
        descriptor: -1, client: ClientAddress(ip: ip), loop: 0, limits: HTTPServer.Limits())
    }
    let (one, other) = (connection([192, 0, 2, 1]), connection([192, 0, 2, 2]))
    let proxy = connection([127, 0, 0, 1])
    #expect(table.beginStream(of: one) && table.beginStream(of: one))
    #expect(!table.beginStream(of: one))
    #expect(table.beginStream(of: other))
    for _ in 0..<3 { #expect(table.beginStream(of: proxy)) }
    table.endStream(of: one)
    #expect(table.beginStream(of: one))
  }
}
