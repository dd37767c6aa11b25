import TestCluster
import TestHTTP
import TestOrigin
import TestPictures
import Testing

/// What clients get where there is no picture.
@Suite(.timeLimit(.minutes(2)))
struct FailureTests {
  @Test func `an address that is not allowed is refused, as a URL and after a redirect`()
    async throws
  {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/away", .redirect(to: "http://10.0.0.1/a"))
    let direct = try await fixture.gateway.response("/image?url=http://10.0.0.1/a")
    let redirected = try await fixture.image("/away")
    for response in [direct, redirected] {
      #expect(response.status == 502)
      #expect(try response.failureCode() == "dns_failure")
    }
  }

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

  @Test func `an origin that refuses connections is a bad gateway`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.stop()
    let response = try await fixture.image("/a")
    #expect(response.status == 502)
    #expect(try response.failureCode() == "connect_failure")
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

  @Test func `a placeholder stands in for a failure, and nothing keeps it`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/missing", .status(404))
    let response = try await fixture.image("/missing", "w=64&default=blank")
    #expect(response.status == 200)
    #expect(response["Content-Type"] == "image/svg+xml")
    #expect(response["Cache-Control"] == "no-store")
    #expect(response["X-Imgctl-Failure"] == "http_status")
  }
}
