import FoundationEssentials
import ImgCrypto
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

/// A gateway with a key.
@Suite(.timeLimit(.minutes(2)))
struct SignatureTests {
  private static let key = "7365637265742d6b6579"
  private static let salt = "68656c6c6f"

  @Test func `only a request with the signature of the key is answered`() async throws {
    let directory = try TestDirectory()
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
  }

  /// Base64 for URLs of HMAC-SHA256 of the salt and the text.
  private static func signature(of text: String) -> String {
    let code = HMACSHA256.code(
      of: Array("hello".utf8) + Array(text.utf8), key: Array("secret-key".utf8))
    return Data(code).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}
