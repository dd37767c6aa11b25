import ImgSystem
import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// Clients that send what no client should.
@Suite(.timeLimit(.minutes(2)))
struct HostileTests {
  private static let post = "POST /health HTTP/1.1\r\nHost: localhost\r\n"

  @Test func `a request that is not valid gets one failure, and its connection closes`()
    async throws
  {
    let gateway = try GatewayProcess(Cluster(["AUTOSTART": "no"], isStarted: false))
    let long = String(repeating: "a", count: 9000)
    let requests = [
      (Self.post + "Content-Length: -1\r\n\r\n", 400, "malformed_request"),
      (Self.post + "Content-Length: 1x\r\n\r\n", 400, "malformed_request"),
      (Self.post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, "malformed_request"),
      (Self.post + "Content-Length: 99999999999999999999\r\n\r\n", 413, "unexpected_body"),
      (Self.post + "Transfer-Encoding: chunked\r\n\r\n", 413, "unexpected_body"),
      (Self.post + "Host: example.org\r\n\r\n", 400, "malformed_request"),
      ("GET /health HTTP/1.1\r\n\r\n", 400, "malformed_request"),
      ("GET http://example.org/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed_request"),
      ("GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "too_long_target"),
      (Self.post + "X: \(long)\r\nY: \(long)\r\n\r\n", 431, "too_large_header"),
    ]
    for (request, status, code) in requests {
      var client = try gateway.connect()
      try client.send(request)
      let response = try await client.receive()
      #expect(response.status == status, "\(request.prefix(100))")
      #expect(try response.failureCode() == code)
      #expect(response["Content-Type"] == "application/json")
      #expect(try await client.receiveRest() == [])
    }
  }

  @Test(arguments: ["%zz", "%", "http://a/%2", "%00", "%ff"])
  func `a query with a bad escape is refused`(text: String) async throws {
    let gateway = try GatewayProcess(Cluster(["AUTOSTART": "no"], isStarted: false))
    let response = try await gateway.response("/image?url=\(text)")
    #expect(response.status == 400)
    #expect(["malformed_target", "invalid_url"].contains(try response.failureCode()))
  }

  @Test func `requests that follow each other closely are answered in their order`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    var client = try fixture.gateway.connect()
    for _ in 0..<50 {
      try client.request(fixture.target("/a"))
      try client.request("/health")
    }
    var bodies: Set<[UInt8]> = []
    for _ in 0..<50 {
      bodies.insert(try await client.receive().body)
      #expect(try await client.receive().text == "alive\n")
    }
    #expect(bodies.count == 1)
    #expect(fixture.origin.totals().requests == 1)
  }

  @Test func `a thousand clients that send nothing more leave nothing behind`() async throws {
    _ = ThisProcess.raiseDescriptorLimit()
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let hit = try await fixture.image("/a")
    var slow = try (0..<1000).map { _ in try Connection(to: fixture.gateway.address) }
    for connection in slow { try connection.socket.send("GET /image?url=x HTTP/1.1\r\nHost: loc") }
    try await fixture.gateway.wait(for: "imgctl_gateway_connections", toBe: 1001)
    #expect(try await fixture.image("/a").body == hit.body)
    let memory = try #require(ThisProcess.residentByteCount(of: fixture.gateway.run.processID))
    #expect(memory < 192 << 20)
    slow = []
    try await fixture.gateway.wait(for: "imgctl_gateway_connections", toBe: 1)
    #expect(try await fixture.image("/a").body == hit.body)
  }
}
