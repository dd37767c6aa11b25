import ImgHTTP
import Synchronization
import TestHTTP
import Testing

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
