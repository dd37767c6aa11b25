import ImgHTTP
import Synchronization
import TestHTTP
import Testing

/// Responses that are streams.
@Suite(.timeLimit(.minutes(1)))
struct StreamTests {
  private static let request = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"

  private func response(_ stream: AsyncStream<[UInt8]>) -> HTTPAnswer {
    .response(
      HTTPResponse(.ok, fields: ["Content-Type": "text/event-stream"], body: .stream(stream)))
  }

  @Test func `each chunk arrives when it is there`() async throws {
    let (stream, chunks) = AsyncStream.makeStream(of: [UInt8].self)
    try await withServer(respond: { _ in response(stream) }) { server in
      var client = try RawClient(to: server.address, sending: Self.request)
      let head = try await client.receive(through: "\r\n\r\n")
      #expect(String(decoding: head, as: UTF8.self).contains("Transfer-Encoding: chunked"))
      for index in 0..<20 {
        chunks.yield(Array("data: \(index)\n\n".utf8))
        #expect(try await client.receiveChunk() == Array("data: \(index)\n\n".utf8))
      }
      chunks.finish()
      #expect(try await client.receiveChunk() == [])
    }
  }

  @Test func `a client of HTTP 1.0 gets the chunks until the connection closes`() async throws {
    let (stream, chunks) = AsyncStream.makeStream(of: [UInt8].self)
    try await withServer(respond: { _ in response(stream) }) { server in
      var client = try RawClient(to: server.address, sending: "GET /events HTTP/1.0\r\n\r\n")
      _ = try await client.receive(through: "\r\n\r\n")
      chunks.yield(Array("hello".utf8))
      chunks.finish()
      #expect(try await client.receiveRest() == Array("hello".utf8))
    }
  }

  @Test func `a client that leaves cancels the stream`() async throws {
    let cancelled = Gate()
    let (stream, chunks) = AsyncStream.makeStream(of: [UInt8].self)
    chunks.onTermination = { _ in cancelled.open() }
    try await withServer(respond: { _ in response(stream) }) { server in
      do {
        var client = try RawClient(to: server.address, sending: Self.request)
        _ = try await client.receive(through: "\r\n\r\n")
      }
      await cancelled.wait()
      try await until { server.statistics.streams == 0 }
    }
  }

  @Test func `a stop ends streams at once`() async throws {
    let (stream, chunks) = AsyncStream.makeStream(of: [UInt8].self)
    try await withServer(respond: { _ in response(stream) }) { server in
      var client = try RawClient(to: server.address, sending: Self.request)
      _ = try await client.receive(through: "\r\n\r\n")
      chunks.yield([1])
      #expect(try await client.receiveChunk() == [1])
      await server.stop(drainingFor: .seconds(60))
      #expect(try await client.receiveChunk() == [])
      #expect(try await client.receiveRest() == [])
    }
  }

  @Test func `no more is taken from a stream than its client and buffer hold`() async throws {
    let taken = Atomic(0)
    let chunk = [UInt8](repeating: 7, count: 64 << 10)
    try await withServer { _ in
      response(
        AsyncStream {
          taken.add(1, ordering: .relaxed)
          return chunk
        })
    } _: { server in
      var client = try RawClient(to: server.address, sending: Self.request)
      _ = try await client.receive(through: "\r\n\r\n")
      // Until the kernel takes no more.
      var sent = -1
      while sent != server.statistics.sentBytes {
        sent = server.statistics.sentBytes
        for _ in 0..<1000 { await Task.yield() }
      }
      #expect(taken.load(ordering: .relaxed) * chunk.count <= sent + 3 * chunk.count)
      for _ in 0..<200 { #expect(try await client.receiveChunk().allSatisfy { $0 == 7 }) }
    }
  }

  @Test func `a client that does not read is closed`() async throws {
    let chunk = [UInt8](repeating: 7, count: 64 << 10)
    try await withServer {
      $0.limits.idleTime = .seconds(1)
    } respond: { _ in
      response(AsyncStream { chunk })
    } _: { server in
      let client = try RawClient(to: server.address)
      try client.send(Self.request)
      try await until { server.statistics.streams == 1 }
      try await until { server.statistics.streams == 0 }
      try await until { server.statistics.openConnections == 0 }
      client.endSending()
    }
  }

  @Test func `streams above their limit get 503`() async throws {
    let (stream, chunks) = AsyncStream.makeStream(of: [UInt8].self)
    try await withServer {
      $0.limits.streams = 1
    } respond: { _ in
      response(stream)
    } _: { server in
      var first = try RawClient(to: server.address, sending: Self.request)
      _ = try await first.receive(through: "\r\n\r\n")
      var second = try RawClient(to: server.address, sending: Self.request)
      #expect(try await second.receive().status == 503)
      chunks.finish()
    }
  }

  @Test func `an answer to HEAD takes nothing from a stream`() async throws {
    let taken = Atomic(0)
    try await withServer { _ in
      response(
        AsyncStream {
          taken.add(1, ordering: .relaxed)
          return [1]
        })
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      #expect(try await client.receive(toHead: true).status == 200)
      #expect(try await client.receiveRest() == [])
      #expect(taken.load(ordering: .relaxed) == 0)
    }
  }
}

/// Responses that are sent many times.
@Suite(.timeLimit(.minutes(1)))
struct RepeatedResponseTests {
  private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
  private let repeated = RepeatedResponse(
    HTTPResponse(.ok, fields: ["ETag": "\"a\""], body: .bytes(Array("hello".utf8))))

  /// The clients of both event loops get one response at a time, and each replacement releases a response that
  /// some of them may still receive.
  @Test func `it is sent over any number of connections, also at the same time`() async throws {
    let source = ReplacedResponse()
    try await withServer {
      $0.threadCount = 2
    } respond: { _ in
      .repeated(source.next())
    } _: { server in
      let byteCount = try await withThrowingTaskGroup(of: Int.self, returning: Int.self) { group in
        for _ in 0..<8 {
          group.addTask { try await Self.receiveResponses(of: server) }
        }
        return try await group.reduce(0, +)
      }
      #expect(server.statistics.sentBytes == byteCount)
    }
  }

  /// Sends requests in pairs over one connection, and checks the responses.
  ///
  /// - Returns: the number of bytes of their bodies.
  private static func receiveResponses(of server: HTTPServer) async throws -> Int {
    var client = try RawClient(to: server.address)
    var byteCount = 0
    for _ in 0..<20 {
      try client.send(request + request)
      for _ in 0..<2 {
        let response = try await client.receive()
        #expect(response.status == 200)
        #expect(response["Connection"] == nil)
        let tag = try #require(response["ETag"])
        let sent = try #require(ReplacedResponse.bodies.first(where: { $0.tag == tag }))
        let isWhole = response.body == sent.bytes
        #expect(isWhole, "\(response.body.count) bytes for \(tag)")
        byteCount += response.body.count
      }
    }
    return byteCount
  }

  @Test func `an answer to HEAD has no body, and a connection's last one says so`() async throws {
    try await withServer(respond: { [repeated] _ in .repeated(repeated) }) { server in
      var client = try RawClient(to: server.address, sending: "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
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
    let invalid = RepeatedResponse(HTTPResponse(.ok, fields: ["A": "b\r\nC: d"], body: .bytes([1])))
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

/// A repeated response that another one replaces after some uses.
private final class ReplacedResponse: Sendable {
  static let bodies: [(tag: String, bytes: [UInt8])] = [
    ("\"short\"", Array("hello".utf8)),
    ("\"long\"", (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }),
  ]
  private static let usesOfEach = 7

  private struct State {
    var current = ReplacedResponse.response(0)
    var useCount = 0
  }

  private let state = Mutex(State())

  func next() -> RepeatedResponse {
    state.withLock { state in
      state.useCount += 1
      if state.useCount.isMultiple(of: Self.usesOfEach) {
        let index = state.useCount / Self.usesOfEach % Self.bodies.count
        state.current = Self.response(index)
      }
      return state.current
    }
  }

  private static func response(_ index: Int) -> RepeatedResponse {
    let (tag, bytes) = bodies[index]
    return RepeatedResponse(HTTPResponse(.ok, fields: ["ETag": tag], body: .bytes(bytes)))
  }
}
