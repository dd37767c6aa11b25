import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// Redirects of origins on the list of `--allow-origin`. 127.0.0.1 and localhost are two hosts.
@Suite(.timeLimit(.minutes(2)))
struct OriginTests {
  private let fixture: GatewayFixture
  /// The origin that the list permits.
  private let listed: TestOrigin
  /// Another one, to which the first redirects.
  private let other: TestOrigin
  private let otherURL: String

  init() throws {
    fixture = try GatewayFixture()
    listed = fixture.origin
    other = try TestOrigin()
    otherURL = "http://localhost:\(other.port)"
    listed.serve("/a", .body(fixture.picture))
    other.serve("/a", .body(fixture.picture))
  }

  /// A gateway that permits a path of the first origin.
  private func gateway(_ path: String = "") throws -> GatewayProcess {
    try GatewayProcess(fixture.cluster, ["--allow-origin", listed.baseURL + path])
  }

  private func expectRefusal(_ response: RawResponse, of host: String) throws {
    #expect(response.status == 403)
    let failure = try response.decoded(FailureBody.self).error
    #expect(failure.code == "blocked_origin")
    #expect(!failure.retryable)
    #expect(
      failure.message == "a redirect leads to \(host), to a URL that is not permitted")
  }

  @Test func `a redirect to an origin outside the list sends it no request`() async throws {
    listed.serve("/away", .redirect(to: otherURL + "/a?key=secret"))
    listed.serve("/chain", .redirect(to: "/away"))
    let gateway = try gateway()
    for path in ["/away", "/chain"] {
      try expectRefusal(try await gateway.response(fixture.target(path)), of: "localhost")
    }
    #expect(other.totals().connectionsOpened == 0)
    // A gateway without a list follows it.
    #expect(try await fixture.image("/away").status == 200)
    #expect(other.counters("/a").requests == 1)
    // The thumbnail is stored now.
    #expect(try await gateway.response(fixture.target("/away")).status == 200)
  }

  @Test func `a redirect within the list is followed`() async throws {
    listed.serve("/within", .redirect(to: listed.baseURL + "/a"))
    #expect(try await gateway().response(fixture.target("/within")).status == 200)
    listed.serve("/to-other", .redirect(to: otherURL + "/a"))
    let wider = try GatewayProcess(
      fixture.cluster, ["--allow-origin", listed.baseURL, "--allow-origin", otherURL])
    #expect(try await wider.response(fixture.target("/to-other")).status == 200)
  }

  @Test func `a redirect out of a path of the list is refused`() async throws {
    listed.serve("/pictures/out", .redirect(to: "/a"))
    listed.serve("/pictures/in", .redirect(to: "/pictures/a"))
    listed.serve("/pictures/a", .body(fixture.picture))
    let gateway = try gateway("/pictures")
    try expectRefusal(
      try await gateway.response(fixture.target("/pictures/out")), of: "127.0.0.1")
    #expect(listed.counters("/a").requests == 0)
    #expect(try await gateway.response(fixture.target("/pictures/in")).status == 200)
  }

  @Test func `the picture in place of one that failed is redirected within the list, too`()
    async throws
  {
    listed.serve("/missing", .status(404))
    listed.serve("/away", .redirect(to: otherURL + "/a"))
    let query = "w=64&default=\(listed.baseURL)/away"
    let response = try await gateway().response(fixture.target("/missing", query))
    #expect(response.status == 404)
    #expect(other.totals().connectionsOpened == 0)
  }

  @Test func `a picture of a job is redirected within the list if its URL is there`() async throws {
    let elsewhere = "http://localhost:\(listed.port)"
    listed.serve("/away", .redirect(to: otherURL + "/a"))
    listed.serve("/elsewhere", .redirect(to: otherURL + "/a"))
    let job = try fixture.cluster.submit([listed.baseURL + "/away", elsewhere + "/elsewhere"])
    _ = try await fixture.gateway.response("/api/jobs/\(job)/events")
    let gateway = try gateway()
    for path in ["/id/\(job)-0/40", "/id/\(job)-0/info?exif"] {
      try expectRefusal(try await gateway.response(path), of: "localhost")
    }
    for path in ["/id/\(job)-0", "/id/\(job)-1/40", "/id/\(job)-1/info?exif"] {
      #expect(try await gateway.response(path).status == 200, "\(path)")
    }
  }

  @Test func `a fetch for two gateways goes on for the one that permits its redirect`()
    async throws
  {
    listed.serve("/away", .redirect(to: otherURL + "/held"))
    other.serve("/held", .body(fixture.picture, delivery: .hold))
    var client = try fixture.gateway.connect()
    try client.request(fixture.target("/away"))
    try #require(other.waitUntil(seconds: 20) { $0["/held"].inFlight == 1 })
    try expectRefusal(try await gateway().response(fixture.target("/away")), of: "localhost")
    other.release("/held")
    #expect(try await client.receive().status == 200)
    #expect(listed.counters("/away").requests == 1)
    #expect(other.counters("/held").requests == 1)
  }
}
