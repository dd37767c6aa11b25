import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// Origins that ask for a pause.
@Suite(.timeLimit(.minutes(2)))
struct RetryAfterTests {
  private func seconds(_ response: RawResponse) throws -> Int {
    try #require(response["Retry-After"].flatMap { Int($0) })
  }

  @Test(arguments: [(429, 429), (503, 503), (500, 503)])
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

  @Test func `a missing picture whose response asks for a pause makes no other one missing`()
    async throws
  {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/missing", .status(404, retryAfter: "300"))
    for _ in 0..<2 {
      let missing = try await fixture.image("/missing")
      #expect(missing.status == 404)
      #expect(missing["Retry-After"] == nil)
    }
    let other = try await fixture.image("/a")
    #expect(other.status == 503)
    #expect((2...301).contains(try seconds(other)))
    #expect(try other.failureCode() == "http_status")
    #expect(fixture.origin.startOrder() == ["/missing"])
  }

  @Test func `a short pause is waited for`() async throws {
    let fixture = try GatewayFixture([], ["ATTEMPTS": "3", "BACKOFF": "1ms"])
    fixture.origin.serve("/a", .statuses([503, 200], body: fixture.picture, retryAfter: "1"))
    #expect(try await fixture.image("/a").status == 200)
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
