import FoundationEssentials
import ImgCrypto
import TestCluster
import TestFiles
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
    other = TestOrigin()
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
    #expect(failure.message == "a redirect leads to \(host), to a URL that is not permitted")
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

  @Test func `the picture in place of a failed one is redirected within the list`() async throws {
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
}

/// Which addresses a picture may have.
@Suite(.timeLimit(.minutes(2)))
struct AddressTests {
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
}

/// A gateway with a key.
@Suite(.timeLimit(.minutes(2)))
struct SignatureTests {
  private static let key = "7365637265742d6b6579"
  private static let salt = "68656c6c6f"

  @Test func `only a request with the signature of the key is answered`() async throws {
    let directory = TestDirectory()
    let keys = try directory.write(
      Array("\(Self.key) \(Self.salt)\n".utf8), to: "keys", mode: 0o600)
    let fixture = try GatewayFixture(["--key-file", keys])
    fixture.origin.serve("/a", .body(fixture.picture))
    let path = "/rs:fit:64:64/plain/\(fixture.origin.baseURL)/a@webp"
    let signature = Self.signature(of: path)
    let other = (signature.first == "A" ? "B" : "A") + signature.dropFirst()
    for wrong in [other, "unsafe", "insecure", "_", String(signature.dropLast())] {
      let response = try await fixture.gateway.response("/\(wrong)\(path)")
      #expect(response.status == 403, "\(wrong)")
      #expect(try response.failureCode() == "invalid_signature")
    }
    #expect(try await fixture.image("/a").status == 403)
    #expect(fixture.origin.totals().requests == 0)

    let response = try await fixture.gateway.response("/\(signature)\(path)")
    #expect(response.status == 200)
    #expect(response["Content-Type"] == "image/webp")
    // The signature does not count for a hit of another path, and an unsigned hit is no hit.
    let larger = path.replacing("64:64", with: "65:65")
    #expect(try await fixture.gateway.response("/\(signature)\(larger)").status == 403)
    #expect(try await fixture.gateway.response("/\(other)\(path)").status == 403)

    let query = "/image?url=\(fixture.origin.baseURL)/a&w=64"
    let signed = "\(query)&s=\(Self.signature(of: query))"
    #expect(try await fixture.gateway.response(signed).status == 200)
    #expect(try await fixture.gateway.response("\(query)&s=\(signature)").status == 403)

    // What imgctl signs is accepted.
    let printed = try fixture.cluster.imgctl(
      "sign", "--key-file", keys, "/unsafe\(path)", query)
    #expect(printed.lines == ["/\(signature)\(path)", signed])
    let picture = "\(fixture.origin.baseURL)/a"
    let made = try fixture.cluster.imgctl(
      "sign", "--key-file", keys, picture, "--size", "60x40", "--crop", "--format", "png")
    let target = try #require(made.lines.first)
    let cropped = try await fixture.gateway.response(target)
    #expect(cropped.status == 200)
    #expect(cropped["Content-Type"] == "image/png")
    #expect(
      try await fixture.gateway.response(target.replacing("60:40", with: "60:41")).status == 403)
  }

  /// Base64 for URLs of HMAC-SHA256 of the salt and the text.
  private static func signature(of text: String) -> String {
    let code = HMACSHA256.code(
      of: Array("hello".utf8) + Array(text.utf8), key: Array("secret-key".utf8))
    return Data(code).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}
