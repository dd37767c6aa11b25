import TestCluster
import TestHTTP
import TestOrigin
import Testing

/// Which addresses a picture may have.
@Suite(.timeLimit(.minutes(2)))
struct AddressTests {
  @Test func `an address outside the allowed networks gets no request`() async throws {
    let fixture = try GatewayFixture([], ["ALLOW_NETWORK": "10.0.0.0/8"])
    fixture.origin.serve("/a", .body(fixture.picture))
    let response = try await fixture.image("/a")
    #expect(response.status == 502)
    #expect(try response.failureCode() == "dns_failure")
    #expect(fixture.origin.totals().requests == 0)
  }

  @Test func `neither a URL nor a redirect leads to a refused address or to a file`() async throws {
    let fixture = try GatewayFixture()
    let refused = ["dns_failure", "dns_failure"]
    let places: [(path: String, url: String, codes: [String], direct: Int)] = [
      ("/link-local", "http://169.254.169.254/latest/", refused, 502),
      ("/loopback", "http://[::1]:\(fixture.origin.port)/a", refused, 502),
      ("/file", "file:///etc/passwd", ["blocked_origin", "unsupported_scheme"], 403),
    ]
    for place in places {
      let direct = try await fixture.gateway.response("/image?url=\(place.url)&w=64")
      fixture.origin.serve(place.path, .redirect(to: place.url))
      let redirected = try await fixture.image(place.path)
      let responses = [direct, redirected]
      #expect(responses.map(\.status) == [place.direct, 502], "\(place.url)")
      #expect(try responses.map { try $0.failureCode() } == place.codes, "\(place.url)")
    }
    #expect(fixture.origin.totals().requests == places.count)
  }

  @Test func `the name and password of a URL go to its origin, and into no answer`() async throws {
    let fixture = try GatewayFixture()
    // Base64 of user:secret.
    let authorization = "Basic dXNlcjpzZWNyZXQ="
    fixture.origin.serve("/a", .authorized(by: authorization, .body(fixture.picture)))
    fixture.origin.serve("/missing", .authorized(by: authorization, .status(404)))
    let base = fixture.origin.baseURL.replacing("http://", with: "http://user:secret@")
    let picture = try await fixture.gateway.response("/image?url=\(base)/a&w=64")
    #expect(picture.status == 200)
    let missing = try await fixture.gateway.response("/image?url=\(base)/missing&w=64")
    #expect(missing.status == 404)
    #expect(missing.text.contains("user:***@"))
    #expect(!missing.text.contains("secret"))
    // The picture of those who know the password is no hit for others.
    #expect(try await fixture.image("/a").status == 502)
  }

  @Test func `a fragment and the spelling of a host make no other picture`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    // libcurl resolves all names that end with localhost itself (RFC 6761, section 6.3).
    let hosts = ["b%C3%BCcher.localhost", "B%C3%9CCHER.localhost", "xn--bcher-kva.localhost"]
    for (number, host) in hosts.enumerated() {
      let url = "http://\(host):\(fixture.origin.port)/a%23part-\(number)"
      let response = try await fixture.gateway.response("/image?url=\(url)&w=64")
      #expect(response.status == 200, "\(host): \(response.text)")
    }
    #expect(fixture.origin.totals().requests == 1)
  }
}
