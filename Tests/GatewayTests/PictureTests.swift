import FoundationEssentials
import TestCluster
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
    #expect(try missing.failureCode() == "unreachable")
    #expect(fixture.origin.counters("/b").requests == 0)
  }

  @Test(
    arguments: [
      ("h=200", 267, 200), ("w=128", 128, 96), ("", 256, 192),
      ("w=200&h=200&fit=outside", 267, 200),
    ])
  func `a thumbnail has the sides that were asked for, or is no larger than the server permits`(
    options: String, width: Int, height: Int
  ) async throws {
    let fixture = try GatewayFixture(["--maximum-side", "256"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let response = try await fixture.image("/a", options)
    #expect(response.status == 200)
    #expect((response["X-Imgctl-Limit"] != nil) == options.isEmpty)
    let list = try await fixture.gateway.response("/v2/list").text
    #expect(list.contains(#""height":\#(height),"#), "\(list)")
    #expect(list.contains(#""width":\#(width)}"#), "\(list)")
  }

  @Test(arguments: ["h=256", "w=256&h=256&fit=outside"])
  func `a thumbnail that its proportions make too large is refused, not cut`(
    options: String
  ) async throws {
    let fixture = try GatewayFixture(["--maximum-side", "256"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let response = try await fixture.image("/a", options)
    #expect(response.status == 422)
    #expect(try response.failureCode() == "too_many_pixels")
  }

  /// The counts of `imgctl cache stat --json`.
  private struct Counts: Decodable, Equatable {
    let hits: Int
    let misses: Int
  }

  @Test(arguments: [60, 340, 700])
  func `a thumbnail of any number of bytes is whole and counted once, new and as a hit`(
    side: Int
  ) async throws {
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

  @Test func `a large thumbnail that expires at once is sent to who has waited for it`()
    async throws
  {
    let fixture = try GatewayFixture(coordinatorArguments: ["--default-expiry", "1ms"])
    let noise = try PictureMaker.start().noise(seed: 1, width: 700, height: 700)
    fixture.origin.serve("/a", .body(noise))
    let response = try await fixture.image("/a", "output=png")
    #expect(response.status == 200)
    #expect(response.body.count > 3 * 700 * 700)
    #expect(fixture.origin.counters("/a").requests == 1)
  }

  @Test func `requests for one picture at the same time cause one fetch`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture, delivery: .hold))
    var first = try fixture.gateway.connect()
    var second = try fixture.gateway.connect()
    try first.request(fixture.target("/a"))
    try second.request(fixture.target("/a"))
    try await fixture.gateway.wait(for: "imgctl_gateway_loads", toBe: 2)
    fixture.origin.release("/a")
    let bodies = [try await first.receive(), try await second.receive()].map(\.body)
    #expect(bodies[0] == bodies[1])
    #expect(fixture.origin.counters("/a").requests == 1)
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
