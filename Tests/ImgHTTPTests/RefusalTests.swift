import ImgHTTP
import TestFiles
import TestHTTP
import Testing

/// Requests that a proxy and the server could read differently (RFC 9112, section 11.2), and requests above a
/// limit. A request that follows on the connection must not be answered.
@Suite(.timeLimit(.minutes(1)))
struct RefusalTests {
  private static let next = "GET /next HTTP/1.1\r\nHost: x\r\n\r\n"

  /// The statuses of the responses to these bytes and to a valid request behind them.
  private func statuses(_ bytes: String) async throws -> [Int] {
    var statuses: [Int] = []
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send(bytes + Self.next)
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
    let directory = try TestDirectory()
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
    var client = try RawClient(to: server.address)
    try client.send("GET /a HTTP/1.1\r\n\r\n")
    let response = try await client.receive()
    #expect(response.status == 400)
    #expect(response["X-Reason"] == "the request needs one Host field")
    #expect(response["Connection"] == "close")
    #expect(try await client.receiveRest() == [])
    await server.stop()
  }

  @Test(arguments: ["", "Host: x\r\nContent-Length: 5\r\n"])
  func `a refusal of HEAD sends and counts no body`(fields: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send("HEAD /a HTTP/1.1\r\n\(fields)\r\n")
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
      var client = try RawClient(to: server.address)
      try client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
      let response = try await client.receive()
      #expect(response.status == 500)
      #expect(response["Set-Cookie"] == nil)
      #expect(response["X"] == nil)
    }
  }
}
