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
      var client = try RawClient(to: server.address)
      try client.send(Self.request)
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
      var client = try RawClient(to: server.address)
      try client.send("GET /events HTTP/1.0\r\n\r\n")
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
        var client = try RawClient(to: server.address)
        try client.send(Self.request)
        _ = try await client.receive(through: "\r\n\r\n")
      }
      await cancelled.wait()
      try await until { server.statistics.streams == 0 }
    }
  }

  @Test func `a stop ends streams at once`() async throws {
    let (stream, chunks) = AsyncStream.makeStream(of: [UInt8].self)
    try await withServer(respond: { _ in response(stream) }) { server in
      var client = try RawClient(to: server.address)
      try client.send(Self.request)
      _ = try await client.receive(through: "\r\n\r\n")
      chunks.yield([1])
      #expect(try await client.receiveChunk() == [1])
      await server.stop(drainingFor: .seconds(60))
      #expect(try await client.receiveChunk() == [])
      #expect(try await client.receiveRest() == [])
    }
  }

  @Test func `no more is taken from a stream than the client and its buffer have room for`()
    async throws
  {
    let taken = Atomic(0)
    let chunk = [UInt8](repeating: 7, count: 64 << 10)
    try await withServer { _ in
      response(
        AsyncStream {
          taken.add(1, ordering: .relaxed)
          return chunk
        })
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send(Self.request)
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
      var first = try RawClient(to: server.address)
      try first.send(Self.request)
      _ = try await first.receive(through: "\r\n\r\n")
      var second = try RawClient(to: server.address)
      try second.send(Self.request)
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
