import FoundationEssentials
import ImgClient
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import TestPictures
import Testing

/// Pictures over the wire: loads, hits, and conditions.
@Suite(.timeLimit(.minutes(2)))
struct PictureTests {
  @Test func `a picture is fetched once, and stays without a coordinator`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let first = try await fixture.image("/a")
    #expect(first.status == 200)
    #expect(first["Content-Type"]?.hasPrefix("image/") == true)
    #expect(try await fixture.image("/a").body == first.body)
    #expect(fixture.origin.counters("/a").requests == 1)

    try fixture.cluster.killCoordinator()
    #expect(try await fixture.image("/a").body == first.body)
    let missing = try await fixture.image("/b")
    #expect(missing.status == 503)
    #expect(missing["Retry-After"] != nil)
    #expect(missing["Content-Type"] == "application/json")
    #expect(try missing.failureCode() == "no_coordinator")
    #expect(fixture.origin.counters("/b").requests == 0)
  }

  @Test(arguments: [
    (256, "h=200", 267, 200), (256, "", 256, 192), (4_096, "", 320, 240),
    (4_096, "w=100&h=100&mode=fill&crop=1", 100, 100),
    (4_096, "w=100&h=100&mode=fill&crop=1&radius=5&pad=40", 180, 180),
    (4_096, "w=100&mode=fill&pad=40", 180, 155),
  ])
  func `a thumbnail has the sides of its request, of its picture, or those that are permitted`(
    maximumSide: Int, options: String, width: Int, height: Int
  ) async throws {
    let fixture = try GatewayFixture(["--maximum-side", "\(maximumSide)"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let response = try await fixture.image("/a", options)
    #expect(response.status == 200)
    #expect((response["X-Imgctl-Limit"] != nil) == (width == 256))
    let list = try await fixture.gateway.response("/v2/list").text
    #expect(list.contains(#""thumbnail_height":\#(height),"#), "\(list)")
    #expect(list.contains(#""thumbnail_width":\#(width),"#), "\(list)")
    #expect(list.contains(#""height":240,"#))
    #expect(list.contains(#""width":320}"#))
  }

  @Test func `a query may ask for 16 bits`() async throws {
    let fixture = try GatewayFixture()
    let gradient = WideRaster.gradient(width: 200, height: 100, bandCount: 3)
    fixture.origin.serve(
      "/a", .body(try PictureMaker.start().encode(gradient, suffix: ".png[compression=1]")))
    fixture.origin.serve("/b", .body(fixture.picture))
    let wide = try await fixture.image("/a", "w=64&depth=16")
    #expect(wide["Content-Type"] == "image/png")
    #expect(try PictureReader.start().wideRaster(of: wide.body) != nil)
    #expect(try await fixture.image("/a", "w=64")["Content-Type"] == "image/jpeg")
    #expect(try await fixture.image("/b", "w=64&depth=16")["Content-Type"] == "image/jpeg")
    #expect(try await fixture.image("/a", "w=64&depth=16&output=jpg").status == 422)
  }

  @Test(arguments: [([], 1), (["--keep", "thumbnail"], 2)] as [([String], Int)])
  func `another size needs no request if the original is kept`(
    options: [String], requestCount: Int
  ) async throws {
    let fixture = try GatewayFixture(options, ["KEEP_AUTO_SIZE": "1M"])
    fixture.origin.serve("/a", .body(fixture.picture))
    #expect(try await fixture.image("/a", "w=64").status == 200)
    #expect(try await fixture.image("/a", "w=32").status == 200)
    #expect(fixture.origin.counters("/a").requests == requestCount)
  }

  /// The counts of `imgctl cache stat --json`.
  private struct Counts: Decodable, Equatable {
    let hits: Int
    let misses: Int
  }

  @Test(arguments: [60, 700])
  func `a thumbnail of any length is whole and counted once, new or a hit`(side: Int) async throws {
    let fixture = try GatewayFixture()
    let noise = try PictureMaker.start().noise(seed: 1, width: side, height: side)
    fixture.origin.serve("/a", .body(noise))
    let target = fixture.target("/a", "output=png")
    let first = try await fixture.gateway.response(target)
    #expect(first["X-Imgctl-From"] == "network")
    // Without what the first one keeps in memory.
    let second = try await GatewayProcess(fixture.cluster).response(target)
    #expect(second["X-Imgctl-From"] == "store")
    for response in [first, second] {
      #expect(response.status == 200)
      // PNG cannot make noise smaller.
      #expect(response.body.count > 3 * side * side)
      #expect(response.body.suffix(8) == [0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
    }
    #expect(first.body == second.body)
    let line = try #require(try fixture.cluster.imgctl("cache", "stat", "--json").lines.last)
    let counts = try JSONDecoder().decode(Counts.self, from: Data(line.utf8))
    #expect(counts == Counts(hits: 1, misses: 1))
  }

  @Test func `a large thumbnail that expires at once is sent to those who waited`() async throws {
    let fixture = try GatewayFixture(coordinatorArguments: ["--default-expiry", "1ms"])
    let noise = try PictureMaker.start().noise(seed: 1, width: 700, height: 700)
    fixture.origin.serve("/a", .body(noise))
    let response = try await fixture.image("/a", "output=png")
    #expect(response.status == 200)
    #expect(response.body.count > 3 * 700 * 700)
    #expect(fixture.origin.counters("/a").requests == 1)
  }

  @Test func `gateway and library share the memory budget, each process once`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let limit = "imgctl_gateway_memory_limit_bytes"
    #expect(try await fixture.image("/a").status == 200)
    #expect(try await fixture.gateway.metric(limit) == 41_943_040)
    #expect(try #require(try await fixture.gateway.metric("imgctl_gateway_memory_bytes")) > 1_000)
    try await {
      let configuration = ClusterConfiguration(
        socketPath: fixture.cluster.socketPath, dataDirectory: fixture.cluster.dataDirectory,
        startsCoordinator: false)
      let client = try ImageClient(configuration)
      let url = "http://127.0.0.1:\(fixture.origin.port)/a"
      _ = try await client.image(for: url, size: 32)
      try await fixture.gateway.wait(for: limit, toBe: 20_971_520)
      #expect(client.memoryCache?.capacity == 20_971_520)
      let memory = #""memory":{"processes":2,"share_bytes":20971520}"#
      #expect(try fixture.cluster.imgctl("status", "--json").output.contains(memory))
    }()
    try await fixture.gateway.wait(for: limit, toBe: 41_943_040)
  }

  @Test func `a client that leaves ends the transfer from the origin`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture, delivery: .stall(after: 100)))
    do {
      let client = try fixture.gateway.connect()
      try client.request(fixture.target("/a"))
      try #require(fixture.origin.waitUntil(seconds: 20) { $0["/a"].inFlight == 1 })
    }
    #expect(fixture.origin.waitUntil(seconds: 20) { $0["/a"].aborted == 1 })
    try await fixture.gateway.wait(for: "imgctl_gateway_loads", toBe: 0)
  }

  @Test func `a client that has the picture gets no body`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let target = fixture.target("/a")
    var client = try fixture.gateway.connect()
    try client.request(target)
    let whole = try await client.receive()
    let tag = try #require(whole["ETag"])
    let date = try #require(whole["Last-Modified"])
    for field in ["If-None-Match: \(tag)", "If-None-Match: *", "If-Modified-Since: \(date)"] {
      try client.request(target, [field])
      let response = try await client.receive()
      #expect(response.status == 304, "\(field)")
      #expect(response["ETag"] == tag)
    }
    try client.request(target, method: "HEAD")
    let head = try await client.receive(toHead: true)
    #expect(head.status == 200)
    #expect(head["Content-Length"] == "\(whole.body.count)")
    // The connection is at the start of a response, so none before had a body.
    try client.request(target, ["If-None-Match: \"other\""])
    #expect(try await client.receive().body == whole.body)
    let old = "If-Modified-Since: Mon, 01 Jan 2001 00:00:00 GMT"
    try client.request(target, [old])
    #expect(try await client.receive().status == 200)
  }
}

/// Thumbnails that another process removes or replaces while the gateway has them in memory.
@Suite(.timeLimit(.minutes(2)))
struct StoreChangeTests {
  private let fixture: GatewayFixture
  private let url: String
  private let target: String

  init() throws {
    fixture = try GatewayFixture()
    url = "\(fixture.origin.baseURL)/a"
    // The thumbnail that imgctl get makes in the format for clients that name none.
    target = fixture.target("/a", "w=256&h=256")
    fixture.origin.serve("/a", .body(fixture.picture))
  }

  private func hit() async throws -> RawResponse {
    try await fixture.gateway.response(target)
  }

  /// Asks until the answer is another one. Between two looks at the store is a second.
  private func change(of first: RawResponse, at other: String? = nil) async throws -> RawResponse {
    let deadline = ContinuousClock.now + RawClient.patience
    while true {
      let response = try await fixture.gateway.response(other ?? target)
      if response["ETag"] != first["ETag"] { return response }
      guard ContinuousClock.now < deadline else { throw RawClient.Failure.deadline }
    }
  }

  @Test func `a thumbnail that was replaced in the store is sent`() async throws {
    let first = try await hit()
    #expect(try await hit()["X-Imgctl-From"] == "store")
    fixture.origin.serve("/a", .body(try PictureMaker.start().card(index: 2)))
    let path = fixture.cluster.directory.file("new")
    let result = try fixture.cluster.imgctl(
      "get", url, "--enlarge", "--format", "compatible", "--cache-policy", "reload", "-o", path)
    #expect(result.exitCode == 0, "\(result.messages)")
    let second = try await change(of: first)
    #expect(second.status == 200)
    #expect(second["X-Imgctl-From"] == "store")
    #expect(fixture.origin.counters("/a").requests == 2)
  }

  @Test func `a thumbnail removed from the store is fetched again in each version`() async throws {
    let first = try await hit()
    #expect(try await hit()["X-Imgctl-From"] == "store")
    let version = "/_/cb:1/plain/\(url)@jpg"
    let firstVersion = try await fixture.gateway.response(version)
    #expect(firstVersion.status == 200)
    fixture.origin.serve("/a", .status(404))
    let result = try fixture.cluster.imgctl("cache", "rm", url)
    #expect(result.exitCode == 0, "\(result.messages)")
    let second = try await change(of: first)
    #expect(second.status == 404)
    #expect(try await change(of: firstVersion, at: version).status == 404)
    #expect(fixture.origin.counters("/a").requests == 4)
  }
}

/// What clients get where there is no picture.
@Suite(.timeLimit(.minutes(2)))
struct FailureTests {
  @Test func `a status says why the origin has no picture`() async throws {
    let fixture = try GatewayFixture()
    let origin = fixture.origin
    origin.serve("/missing", .status(404))
    origin.serve("/text", .body(Array("no picture".utf8), contentType: "text/plain"))
    let huge = try PictureMaker.start().card(declaring: 60_000, in: .png)
    origin.serve("/huge", .body(huge, contentType: "image/png"))
    origin.serve("/broken", .status(500))
    let expected = [
      ("/missing", 404, "http_status"), ("/text", 415, "not_an_image"),
      ("/huge", 422, "too_many_pixels"), ("/broken", 502, "http_status"),
    ]
    for (path, status, code) in expected {
      let response = try await fixture.image(path)
      #expect(response.status == status, "\(path)")
      #expect(try response.failureCode() == code)
      #expect(response["Cache-Control"] == "no-store")
    }
  }

  @Test
  func `a picture that an origin holds back has a placeholder, and is fetched once meanwhile`()
    async throws
  {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture, delivery: .hold))
    let target = fixture.target("/a", "w=64&wait=0&placeholder=photo")
    for method in ["GET", "HEAD", "GET"] {
      let response = try await fixture.gateway.response(target, method: method)
      #expect(response.status == 200)
      #expect(response["Content-Type"] == "image/svg+xml")
      #expect(response["X-Phase"] == "empty")
      #expect(response["Cache-Control"] == "no-store")
      #expect(response["Refresh"] != nil)
    }
    try #require(fixture.origin.waitUntil(seconds: 20) { $0["/a"].inFlight == 1 })
    fixture.origin.release("/a")
    try await fixture.gateway.wait(for: "imgctl_gateway_loads", toBe: 0)
    let picture = try await fixture.gateway.response(target)
    #expect(picture["Content-Type"] == "image/jpeg")
    #expect(picture["X-Phase"] == "success")
    #expect(fixture.origin.counters("/a").requests == 1)
  }

  @Test func `an origin that stalls is given up after the time of a request`() async throws {
    let fixture = try GatewayFixture(["--request-timeout", "3s"])
    fixture.origin.serve("/a", .body(fixture.picture, delivery: .hold))
    var client = try fixture.gateway.connect()
    try client.request(fixture.target("/a"))
    try #require(fixture.origin.waitUntil(seconds: 20) { $0["/a"].inFlight == 1 })
    let response = try await client.receive()
    #expect(response.status == 504)
    #expect(try response.failureCode() == "timeout")
    #expect(fixture.origin.waitUntil(seconds: 20) { $0["/a"].aborted == 1 })
  }
}

/// Origins that ask for a pause.
@Suite(.timeLimit(.minutes(2)))
struct RetryAfterTests {
  private func seconds(_ response: RawResponse) throws -> Int {
    try #require(response["Retry-After"].flatMap { Int($0) })
  }

  @Test(arguments: [(429, 429), (500, 503)])
  func `a client is told the pause of an origin, and holds up no other`(
    origin status: Int, expected: Int
  ) async throws {
    let fixture = try GatewayFixture(["--requests", "8"], ["ATTEMPTS": "3"])
    fixture.origin.serve("/busy", .status(status, retryAfter: "300"))
    fixture.origin.serve("/a", .body(fixture.picture))
    let first = try await fixture.image("/busy")
    #expect(first.status == expected)
    #expect((2...301).contains(try seconds(first)))
    #expect(try first.failureCode() == "http_status")
    // More than the gateway has room for, of pictures that were not asked for before.
    for number in 0..<20 {
      let response = try await fixture.image("/other/\(number)")
      #expect(response.status == expected)
      #expect((2...301).contains(try seconds(response)))
    }
    #expect(fixture.origin.startOrder() == ["/busy"])
    let other = try await fixture.gateway.response(fixture.target("/a", of: "localhost"))
    #expect(other.status == 200)
  }

  @Test func `no request waits for the circuit breaker of an origin that is down`() async throws {
    // The breaker opens for 5 s after ten failed transfers, then for twice as long each time.
    let fixture = try GatewayFixture(["--request-timeout", "20s"], ["ATTEMPTS": "3"])
    fixture.origin.stop()
    for number in 0..<10 {
      let response = try await fixture.image("/\(number)")
      #expect(response.status == 502)
      #expect(try response.failureCode() == "connect_failure")
    }
  }
}
