import TestFiles
import TestHTTP
import Testing

@testable import ImgHTTP

/// Requests that a proxy and the server could read differently (RFC 9112, section 11.2), and requests above a
/// limit. A request that follows on the connection must not be answered.
@Suite(.timeLimit(.minutes(1)))
struct RefusalTests {
  private static let next = "GET /next HTTP/1.1\r\nHost: x\r\n\r\n"

  /// The statuses of the responses to these bytes and to a valid request behind them.
  private func statuses(_ bytes: String) async throws -> [Int] {
    var statuses: [Int] = []
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address, sending: bytes + Self.next)
      client.endSending()
      let text = String(decoding: try await client.receiveRest(), as: UTF8.self)
      statuses = text.split(separator: "\r\n").compactMap { line in
        let words = line.split(separator: " ")
        return words.count > 1 && words[0] == "HTTP/1.1" ? Int(words[1]) : nil
      }
      #expect(!text.contains("/next"))
    }
    return statuses
  }

  @Test(arguments: [
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: identity\r\n\r\n",
    "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding:\u{B}chunked\r\n\r\n0\r\n\r\n",
    "Content-Length : 5\r\n\r\nhello",
    "Content-Length\t: 5\r\n\r\nhello",
    "Content-Length: 5\0\r\n\r\nhello",
    "X: a\r\n Content-Length: 5\r\n\r\nhello",
    "Content-Lengt: 5\r\n h\r\n\r\nhello",
    "X: a\rContent-Length: 5\r\n\r\nhello",
    "X: a\nContent-Length: 5\r\n\r\nhello",
    "X: a\0Content-Length: 5\r\n\r\nhello",
    "X\0Y: a\r\n\r\n",
    ": a\r\n\r\n",
    "nonsense\r\n\r\n",
    "Host: y\r\n\r\n",
    "Host: x\r\n\r\n",
  ])
  func `an ambiguous header is refused and the connection closes`(fields: String) async throws {
    #expect(try await statuses("POST /a HTTP/1.1\r\nHost: x\r\n\(fields)") == [400])
  }

  @Test(arguments: ["+5", "-5", "0x5", "5, 5", "", "5 5", "1x"])
  func `a length that is not a number is refused`(length: String) async throws {
    #expect(
      try await statuses("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\nhello")
        == [400])
  }

  @Test(arguments: [
    "GET /a\0b HTTP/1.1", "GET /a\rb HTTP/1.1", "GET /a\tb HTTP/1.1", "GET /a b HTTP/1.1",
    "GET  /a HTTP/1.1", "GET /a  HTTP/1.1", "GET /a HTTP/1.10", "GET /a http/1.1", "GET /a",
    "GET a HTTP/1.1", "OPTIONS * HTTP/1.1", "CONNECT x:80 HTTP/1.1", "GET http://y/a HTTP/1.1",
    "GET http:///a HTTP/1.1", "GET ftp://x/a HTTP/1.1",
    "GET /a\0?\(String(repeating: "a&", count: 3000)) HTTP/1.1",
    "GET /\0\0b\0?\(String(repeating: "a&", count: 3000)) HTTP/1.1",
  ])
  func `an ambiguous request line is refused`(line: String) async throws {
    #expect(try await statuses("\(line)\r\nHost: x\r\n\r\n") == [400])
  }

  @Test(arguments: ["GET\t/a\tHTTP/1.1", " GET /a HTTP/1.1"])
  func `a line without a method closes the connection`(line: String) async throws {
    #expect(try await statuses("\(line)\r\nHost: x\r\n\r\n") == [])
  }

  @Test(arguments: ["GET /a HTTP/1.1\nHost: x\n\n", "GET /a HTTP/1.1\r\nHost: x\n\r\n"])
  func `a line that ends without a carriage return is refused`(header: String) async throws {
    #expect(try await statuses(header) == [400])
  }

  /// The bytes of a body are not read, whatever they are.
  @Test(arguments: [
    "Content-Length: 5\r\n\r\nhello",
    "Content-Length: 18446744073709551616\r\n\r\n",
    "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: Chunked\r\n\r\nzz\r\n",
    "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
  ])
  func `a request with a body is refused and the connection closes`(rest: String) async throws {
    for method in ["POST", "GET", "PUT"] {
      #expect(try await statuses("\(method) /a HTTP/1.1\r\nHost: x\r\n\(rest)") == [413])
    }
  }

  @Test(arguments: ["Content-Length: 1000000000000", "Transfer-Encoding: chunked"])
  func `a body that never ends is not waited for`(field: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send("POST /a HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n")
      #expect(try await client.receive().status == 413)
      try await until {
        (try? client.send("1\r\na\r\n")) == nil || server.statistics.openConnections == 0
      }
      try await until { server.statistics.openConnections == 0 }
    }
  }

  @Test(arguments: [false, true])
  func `a client that reads after it has sent a body gets the refusal`(isLocal: Bool) async throws {
    let directory = TestDirectory()
    try await withServer {
      if isLocal { $0.listener = .unix(path: directory.file("socket")) }
    } respond: {
      echo($0)
    } _: { server in
      for _ in 0..<10 {
        var client = try RawClient(to: server.address)
        try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(3 << 20)\r\n\r\n")
        try client.send([UInt8](repeating: 7, count: 3 << 20))
        #expect(try await client.receive().status == 413)
        #expect(try await client.receiveRest() == [])
      }
    }
  }

  @Test func `a client that goes on sending a refused body is closed`() async throws {
    try await withServer(respond: echo) { server in
      let client = try RawClient(to: server.address)
      try client.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
      let block = [UInt8](repeating: 7, count: 1 << 20)
      var count = 0
      while (try? client.send(block)) != nil, count < 64 { count += 1 }
      #expect(count < 64)
    }
  }

  @Test func `the handler makes the response to a request that is refused`() async throws {
    struct Handler: HTTPHandler {
      func answer(to request: HTTPRequest) -> HTTPAnswer { echo(request) }

      func response(to refusal: RequestRefusal) -> HTTPResponse {
        .init(refusal.status, fields: ["X-Reason": refusal.reason])
      }
    }

    let server = try HTTPServer(
      .init(listener: .tcp(host: "127.0.0.1", port: 0)), handler: Handler())
    var client = try RawClient(to: server.address, sending: "GET /a HTTP/1.1\r\n\r\n")
    let response = try await client.receive()
    #expect(response.status == 400)
    #expect(response["X-Reason"] == "the request needs one Host field")
    #expect(response["Connection"] == "close")
    #expect(try await client.receiveRest() == [])
    await server.stop()
  }

  @Test func `the connection closes if the response to a refusal is invalid too`() async throws {
    struct Handler: HTTPHandler {
      func answer(to request: HTTPRequest) -> HTTPAnswer { .response(response) }
      func response(to refusal: RequestRefusal) -> HTTPResponse { response }

      private var response: HTTPResponse { HTTPResponse(.ok, fields: ["X": "a\nb"]) }
    }

    let server = try HTTPServer(
      .init(listener: .tcp(host: "127.0.0.1", port: 0)), handler: Handler())
    var client = try RawClient(to: server.address, sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try await client.receiveRest() == [])
    await server.stop()
  }

  @Test(arguments: ["", "Host: x\r\nContent-Length: 5\r\n"])
  func `a refusal of HEAD sends and counts no body`(fields: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address, sending: "HEAD /a HTTP/1.1\r\n\(fields)\r\n")
      let response = try await client.receive(toHead: true)
      #expect(response["Content-Length"] != "0")
      #expect(try await client.receiveRest() == [])
      #expect(server.statistics.sentBytes == 0)
    }
  }

  @Test func `the target is not UTF-8`() async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send(Array("GET /".utf8) + [0xFF] + Array(" HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
      #expect(try await client.receive().status == 400)
    }
  }

  @Test(arguments: [
    "X: \(String(repeating: "a", count: 17_000))\r\n\r\n",
    "X: \(String(repeating: "a", count: 100_000))\r\n\r\n",
    "\(String(repeating: "a: b\r\n", count: 3000))\r\n",
    "\(String(repeating: "a:\r\n", count: 1000))\r\n",
  ])
  func `fields above the limit are refused`(rest: String) async throws {
    #expect(try await statuses("GET /a HTTP/1.1\r\nHost: x\r\n\(rest)") == [431])
  }

  /// Between 32,200 and 32,600 bytes, the target leaves libmicrohttpd little memory for a response.
  @Test(
    arguments: [8200, 16_400, 31_000, 33_000, 100_000]
      + Array(stride(from: 32_200, to: 32_600, by: 20)))
  func `a target that is too long is refused`(count: Int) async throws {
    let target = "/" + String(repeating: "a", count: count)
    #expect(try await statuses("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n") == [414])
  }

  @Test(arguments: [
    ("X", "a\r\nSet-Cookie: b"), ("X", "a\nSet-Cookie: b"), ("X", "a\u{1}b"), ("X", "\u{7F}"),
    ("X Y", "a"), ("X:", "a"), ("", "a"),
  ])
  func `a response whose field is not valid is replaced`(name: String, value: String) async throws {
    try await withServer { _ in
      .response(HTTPResponse(.ok, fields: [name: value]))
    } _: { server in
      var client = try RawClient(to: server.address, sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
      let response = try await client.receive()
      #expect(response.status == 500)
      #expect(response["Set-Cookie"] == nil)
      #expect(response["X"] == nil)
    }
  }
}

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
      var client = try RawClient(to: server.address, sending: start)
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
      var client = try RawClient(to: server.address, sending: Self.request)
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
      var client = try RawClient(to: server.address, sending: Self.request)
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

  @Test func `a full server whose connections all wait for answers accepts later`() async throws {
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
      var second = try RawClient(to: server.address, sending: Self.request)
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
        var client = try RawClient(to: server.address, sending: Self.request)
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
      Connection(descriptor: descriptor, client: client, loop: 0, limits: HTTPServer.Limits())
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
