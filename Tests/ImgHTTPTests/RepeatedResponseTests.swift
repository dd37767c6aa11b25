import ImgHTTP
import TestHTTP
import Testing

/// Responses that are sent many times.
@Suite(.timeLimit(.minutes(1)))
struct RepeatedResponseTests {
  private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
  private let repeated = RepeatedResponse(
    HTTPResponse(.ok, fields: ["ETag": "\"a\""], body: .bytes(Array("hello".utf8))))

  @Test func `it is sent over any number of connections, also at the same time`() async throws {
    try await withServer(respond: { [repeated] _ in .repeated(repeated) }) { server in
      let clients = try (0..<20).map { _ in try Client(to: server.address) }
      for _ in 0..<5 {
        for client in clients { try client.socket.send(Self.request + Self.request) }
        for client in clients {
          for _ in 0..<2 {
            let response = try await client.socket.receive()
            #expect(response.status == 200)
            #expect(response["ETag"] == "\"a\"")
            #expect(response["Connection"] == nil)
            #expect(response.text == "hello")
          }
        }
      }
      #expect(server.statistics.sentBytes == 1_000)
    }
  }

  @Test func `an answer to HEAD has no body, and the last answer of a connection says so`()
    async throws
  {
    try await withServer(respond: { [repeated] _ in .repeated(repeated) }) { server in
      var client = try RawClient(to: server.address)
      try client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await client.receive(toHead: true)["Content-Length"] == "5")
      #expect(server.statistics.sentBytes == 0)
      try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + Self.request)
      let last = try await client.receive()
      #expect(last["Connection"] == "close")
      #expect(last.text == "hello")
      #expect(try await client.receiveRest() == [])
    }
  }

  @Test func `one whose fields are not valid is a failure of the server`() async throws {
    let invalid = RepeatedResponse(
      HTTPResponse(.ok, fields: ["A": "b\r\nC: d"], body: .bytes([1])))
    try await withServer(respond: { _ in .repeated(invalid) }) { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<2 {
        try client.send(Self.request)
        #expect(try await client.receive().status == 500)
        client = try RawClient(to: server.address)
      }
    }
  }
}
