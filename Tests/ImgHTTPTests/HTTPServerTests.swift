import Glibc
import Synchronization
import TestHTTP
import Testing

@testable import ImgHTTP

/// Requests and responses of a server on loopback.
@Suite(.timeLimit(.minutes(1)))
struct HTTPServerTests {
  @Test func `a request gets the response of the handler`() async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n")
      let response = try await client.receive()
      #expect(response.status == 200)
      #expect(response.text == "get /a?b=c")
      #expect(response["Content-Length"] == "10")
      #expect(response["Date"] != nil)
    }
  }

  @Test(arguments: ["/%00%2F+%zz?a=%20&b", "/ü", "//a/../b", "/a#b"])
  func `the target arrives as sent`(target: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await client.receive().text == "get \(target)")
    }
  }

  @Test(arguments: [
    ("http://x/a?b", "/a?b"), ("HTTP://X", "/"), ("https://x?b", "/?b"),
  ])
  func `an absolute URL is the path of its host`(target: String, path: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      try client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await client.receive().text == "get \(path)")
    }
  }

  @Test func `fields arrive without the white space around their values`() async throws {
    try await withServer { request in
      .response(
        .text(request.fields.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ";")))
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send("GET / HTTP/1.1\r\nHost:x\r\nA:  b c \t\r\nEmpty:\r\nB: d\r\n\r\n")
      #expect(try await client.receive().text == "Host=x;A=b c;Empty=;B=d")
    }
  }

  @Test func `requests that follow each other closely are answered in their order`() async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      let requests = (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }
      try client.send("\r\n" + requests.joined())
      for index in 0..<20 { #expect(try await client.receive().text == "get /\(index)") }
    }
  }

  @Test func `an answer to HEAD has the fields of GET and no body`() async throws {
    try await withServer(respond: { _ in .response(.text("hello")) }) { server in
      var client = try RawClient(to: server.address)
      try client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await client.receive(toHead: true)["Content-Length"] == "5")
      #expect(try await client.receive().text == "hello")
    }
  }

  @Test func `a 304 has the length of its body and does not send it`() async throws {
    try await withServer { _ in
      .response(HTTPResponse(.notModified, body: .bytes(Array("hello".utf8))))
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
      for _ in 0..<2 {
        let response = try await client.receive()
        #expect(response.status == 304)
        #expect(response["Content-Length"] == "5")
      }
    }
  }

  @Test func `a response without a body states no length`() async throws {
    try await withServer { _ in
      .response(HTTPResponse(HTTPStatus(rawValue: 204), fields: ["ETag": "\"a\""]))
    } _: { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<2 {
        try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        let response = try await client.receive()
        #expect(response.status == 204)
        #expect(response["Content-Length"] == nil)
        #expect(response["Transfer-Encoding"] == nil)
        #expect(response["ETag"] == "\"a\"")
      }
    }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
  ])
  func `the connection closes as the client asks`(request: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address, sending: request)
      #expect(try await client.receive().text == "get /")
      #expect(try await client.receiveRest() == [])
    }
  }

  @Test(arguments: 2...9)
  func `a higher minor version is served as HTTP/1.1`(minor: Int) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<2 {
        try client.send("GET /a HTTP/1.\(minor)\r\nHost: x\r\n\r\n")
        let response = try await client.receive()
        #expect(response.text == "get /a")
        #expect(response["Connection"] == nil)
      }
      // HTTP/1.1 requires the field Host.
      try client.send("GET /a HTTP/1.\(minor)\r\n\r\n")
      #expect(try await client.receive().status == 400)
    }
  }

  @Test(arguments: [0, 1, 2])
  func `a client that has ended sending still gets its responses`(count: Int) async throws {
    let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    try await withServer(respond: echo) { server in
      let clients = try (0..<30).map { _ in try Client(to: server.address) }
      for client in clients {
        try client.socket.send(String(repeating: request, count: count) + "GET / HT")
        client.socket.endSending()
      }
      for client in clients {
        for _ in 0..<count { #expect(try await client.socket.receive().text == "get /") }
        #expect(try await client.socket.receiveRest() == [])
      }
      try await until { server.statistics.openConnections == 0 }
    }
  }

  @Test(arguments: [1, 400, 3000, 8000])
  func `a query with many arguments is answered`(count: Int) async throws {
    let target = "/?" + String(repeating: "&", count: count)
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<2 {
        try client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().text == "get \(target)")
      }
    }
  }

  @Test func `a request with many cookies is answered`() async throws {
    let cookies = String(repeating: "a=b;", count: 3000)
    try await withServer {
      .response(.text($0.fields["Cookie"] ?? ""))
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send("GET / HTTP/1.1\r\nHost: x\r\nCookie: \(cookies)\r\n\r\n")
      #expect(try await client.receive().text == cookies)
    }
  }

  @Test(arguments: ["0", "00"])
  func `a request whose body has no bytes is answered`(length: String) async throws {
    try await withServer(respond: echo) { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<2 {
        try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n")
        #expect(try await client.receive().text == "post /a")
      }
    }
  }

  @Test func `many responses share one body`() async throws {
    let body = HTTPBody([UInt8](repeating: 7, count: 300_000))
    try await withServer { _ in
      .response(HTTPResponse(.ok, body: .bytes(body)))
    } _: { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<5 {
        try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().body == body.bytes)
      }
    }
  }

  @Test func `a quiet server gives connections to the same thread`() async throws {
    try await withServer { configuration in
      configuration.threadCount = 2
    } respond: { _ in
      .response(.text("\(pthread_self())"))
    } _: { server in
      /// A connection that stays open, and the thread that answers it.
      func connect() async throws -> (client: Client, thread: String) {
        let client = try Client(to: server.address)
        try client.socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return (client, try await client.socket.receive().text)
      }
      var connections = [try await connect()]
      repeat {
        // The thread may have been busy for a moment.
        try #require(connections.count < 50, "the threads take turns")
        connections.append(try await connect())
      } while connections.suffix(2).first?.thread != connections.last?.thread
    }
  }

  @Test func `many connections are spread over the threads, even if all wait`() async throws {
    let threads = Mutex<[pthread_t: Int]>([:])
    try await withServer { configuration in
      configuration.threadCount = 2
    } respond: { _ in
      threads.withLock { $0[pthread_self(), default: 0] += 1 }
      return .response(.text(""))
    } _: { server in
      var clients: [Client] = []
      for _ in 0..<100 {
        let client = try Client(to: server.address)
        try client.socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try await client.socket.receive()
        clients.append(client)
      }
      #expect(threads.withLock { $0.values.sorted() } == [50, 50])
    }
  }

  @Test func `a multiple of 128 requests at the same time is answered`() async throws {
    try await withServer({ $0.threadCount = 1 }, respond: echo) { server in
      let clients = try Clients(count: 256, of: server)
      for _ in 0..<3 {
        #expect(try await clients.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n") == 256)
      }
    }
  }

  @Test func `the statistics count connections, requests, bytes and responses`() async throws {
    try await withServer { request in
      .response(request.target == "/" ? .text("hello") : HTTPResponse(.notFound))
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n")
      _ = try await client.receive()
      _ = try await client.receive()
      let statistics = server.statistics
      #expect(statistics.acceptedConnections == 1)
      #expect(statistics.openConnections == 1)
      #expect(statistics.requests == 2)
      #expect(statistics.sentBytes == 5)
      #expect(statistics.responses == [1: 0, 2: 1, 3: 0, 4: 1, 5: 0])
    }
  }
}

struct HTTPFieldsTests {
  @Test func `a field is found whatever the case of its name`() {
    let fields: HTTPFields = ["Accept": "image/avif"]
    #expect(fields["accept"] == "image/avif")
    #expect(fields["ACCEPT"] == "image/avif")
    #expect(fields["accepts"] == nil)
    #expect(fields["@ccept"] == nil)
  }

  @Test func `the values of fields with one name are one list`() {
    let fields: HTTPFields = ["Accept": "image/avif", "Vary": "*", "accept": "image/webp"]
    #expect(fields["Accept"] == "image/avif, image/webp")
  }
}

struct BareResponseTests {
  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (1_795_521_909, "Tue, 24 Nov 2026 12:05:09 GMT"),
  ])
  func `a response has the date, no body, and is the last one`(seconds: Int, date: String) {
    let response = BareResponse(.uriTooLong, reason: "URI Too Long", at: seconds)
    #expect(
      String(decoding: response.bytes, as: UTF8.self)
        == "HTTP/1.1 414 URI Too Long\r\nDate: \(date)\r\nConnection: close\r\n"
        + "Content-Length: 0\r\n\r\n")
  }
}
