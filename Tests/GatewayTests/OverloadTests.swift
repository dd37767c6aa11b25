import ImgSystem
import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// More clients than the gateway has room for.
@Suite(.timeLimit(.minutes(2)))
struct OverloadTests {
  @Test func `hits are answered while clients send their requests slowly`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let first = try await fixture.image("/a")
    let slow = try (0..<300).map { _ in try Connection(to: fixture.gateway.address) }
    for part in ["GET /health", " HTTP/1.1\r\nHo", "st: localhost\r"] {
      for connection in slow { try connection.socket.send(part) }
      #expect(try await fixture.image("/a").body == first.body)
    }
    for connection in slow { try connection.socket.send("\n\r\n") }
    for connection in slow { #expect(try await connection.socket.receive().status == 200) }
  }

  @Test func `requests for the metadata of pictures are loads with their limits`() async throws {
    let fixture = try GatewayFixture(["--requests", "4", "--request-timeout", "3s"])
    let paths = (0..<8).map { "/\($0)" }
    for path in paths { fixture.origin.serve(path, .body(fixture.picture)) }
    let job = try fixture.cluster.submit(paths.map { fixture.origin.baseURL + $0 })
    _ = try await fixture.gateway.response("/api/jobs/\(job)/events")
    for path in paths { fixture.origin.serve(path, .body(fixture.picture, delivery: .hold)) }
    let clients = try paths.map { _ in try Connection(to: fixture.gateway.address) }
    for (index, client) in clients.enumerated() {
      try client.socket.request("/id/\(job)-\(index)/info?exif")
    }
    var codes: [String] = []
    for client in clients { codes.append(try await client.socket.receive().failureCode()) }
    // Three of the four loads are for one host.
    #expect(codes.count { $0 == "timeout" } == 3)
    #expect(codes.count { $0 == "too_many_requests" } == 5)
    #expect(try await fixture.gateway.metric("imgctl_gateway_loads") == 0)
  }

  @Test func `loads are limited, and hits go on beyond the limit`() async throws {
    let fixture = try GatewayFixture(["--requests", "64"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture, delivery: .hold) }
    let hit = try await fixture.image("/a")
    #expect(hit.status == 200)
    // Three quarters of the loads are for one host, three quarters of the rest for another, and so on.
    let counts = [("127.0.0.1", 48), ("localhost", 12), ("127.1", 3), ("0x7f.1", 1)]
    var waiting: [Connection] = []
    for (host, count) in counts {
      for _ in 0..<count {
        let connection = try Connection(to: fixture.gateway.address)
        try connection.socket.request(fixture.target("/held/\(waiting.count)", of: host))
        waiting.append(connection)
        try await fixture.gateway.wait(for: "imgctl_gateway_loads", toBe: waiting.count)
      }
      guard waiting.count < 64 else { break }
      var client = try fixture.gateway.connect()
      try client.request(fixture.target("/held/one-more", of: host))
      #expect(try await client.receive().status == 503, "\(host)")
    }
    // None is free: the oldest of the host with the most makes room for one with fewer.
    fixture.origin.serve("/new", .body(picture))
    var client = try fixture.gateway.connect()
    try client.request(fixture.target("/new", of: "0x7f.1"))
    #expect(try await client.receive().status == 200)
    #expect(try await waiting[0].socket.receive().failureCode() == "too_many_requests")

    for number in 64..<600 {
      try client.request(fixture.target("/held/\(number)"))
      let response = try await client.receive()
      #expect(response.status == 503)
      #expect(response["Retry-After"] == "1")
      #expect(try response.failureCode() == "too_many_requests")
    }
    try client.request(fixture.target("/a"))
    #expect(try await client.receive().body == hit.body)
    #expect(try await fixture.gateway.metric("imgctl_gateway_loads") == 63)
    let memory = try #require(ThisProcess.residentByteCount(of: fixture.gateway.run.processID))
    #expect(memory < 128 << 20)
  }
}
