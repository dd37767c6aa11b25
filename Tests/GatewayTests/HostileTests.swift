import ImgSystem
import TestCluster
import TestHTTP
import TestOrigin
import TestPictures
import Testing

/// Clients that send what no client should.
@Suite(.timeLimit(.minutes(2)))
struct HostileTests {
  private static let post = "POST /health HTTP/1.1\r\nHost: localhost\r\n"

  @Test func `an invalid request gets one failure, and its connection closes`() async throws {
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

/// More clients than the gateway has room for.
@Suite(.timeLimit(.minutes(2)))
struct OverloadTests {
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

/// Files that are far larger in memory than on their way.
@Suite(.timeLimit(.minutes(3)))
struct BombTests {
  /// A file, and the answer to a request for it.
  private struct Bomb {
    let name: String
    let file: [UInt8]
    let status: Int
    /// `nil` for a picture.
    let code: String?
  }

  private let fixture: GatewayFixture
  private let maker: PictureMaker

  init() throws {
    maker = try PictureMaker.start()
    fixture = try GatewayFixture([], ["WORKERS": "1", "DECODER_MEMORY": "256M"])
    fixture.origin.serve("/good", .body(fixture.picture))
  }

  @Test func `no file takes much more memory than the limits allow`() async throws {
    try await check([
      // Of these no more than the header is read.
      Bomb(
        name: "png", file: try maker.card(declaring: 30_000, in: .png), status: 422,
        code: "too_many_pixels"),
      Bomb(
        name: "jpeg", file: try maker.card(declaring: 60_000, in: .jpeg), status: 422,
        code: "too_many_pixels"),
      // 800 MB that have to be in memory at once, as passes of an interlaced picture have.
      Bomb(
        name: "interlaced", file: Self.png(side: 10_000, isInterlaced: true, zeros: 800_000_000),
        status: 422, code: "out_of_memory"),
      // A gigabyte behind the pixels of the header, which is not read.
      Bomb(
        name: "surplus", file: Self.png(side: 8, isInterlaced: false, zeros: 1 << 30),
        status: 200, code: nil),
    ])
  }

  /// Asks for each file. Hits are answered meanwhile, and a good picture afterwards.
  private func check(_ bombs: [Bomb]) async throws {
    let hit = try await fixture.image("/good")
    for bomb in bombs {
      fixture.origin.serve("/\(bomb.name)", .body(bomb.file))
      var client = try fixture.gateway.connect()
      try client.request(fixture.target("/\(bomb.name)"))
      #expect(try await fixture.image("/good").body == hit.body)
      let response = try await client.receive()
      #expect(response.status == bomb.status, "\(bomb.name)")
      let code = response.status == 200 ? nil : try response.failureCode()
      #expect(code == bomb.code, "\(bomb.name)")
      try checkMemory(after: bomb.name)
      fixture.origin.serve("/after-\(bomb.name)", .body(fixture.picture))
      #expect(try await fixture.image("/after-\(bomb.name)").status == 200)
    }
  }

  /// The most that each process had at any time. Decoders may take 256 MiB beside their code.
  private func checkMemory(after name: String) throws {
    let coordinator = try fixture.cluster.runningCoordinator().processID
    let children = childProcessIDs(of: coordinator)
    let grandchildren = children.flatMap(childProcessIDs)
    for process in [fixture.gateway.run.processID, coordinator] {
      let peak = try #require(peakByteCount(of: process))
      #expect(peak < 128 << 20, "\(name)")
    }
    #expect(!children.isEmpty)
    // One that has ended meanwhile has no peak.
    for peak in (children + grandchildren).compactMap(peakByteCount) {
      #expect(peak < 384 << 20, "\(name)")
    }
  }

  /// A PNG of 16 bits a sample with transparency.
  private static func png(side: Int, isInterlaced: Bool, zeros: Int) -> [UInt8] {
    let size = PNGChunk.bigEndian(side) + PNGChunk.bigEndian(side)
    return PNGChunk.file([
      PNGChunk("IHDR", size + [16, 6, 0, 0, isInterlaced ? 1 : 0]),
      PNGChunk("IDAT", CompressedZeros.bytes(zeros)), PNGChunk("IEND", []),
    ])
  }
}
