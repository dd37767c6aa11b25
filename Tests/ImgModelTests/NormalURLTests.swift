import Testing

@testable import ImgModel

/// A URL in its normal spelling is what the parser of all URLs makes of it.
@Suite struct NormalURLTests {
  private static let schemes = ["http://", "https://", "HTTP://", "ftp://", "//", "http:/", ""]
  private static let hosts = [
    "example.org", "example.org.", "EXAMPLE.org", "a_b~c-d.e", "127.0.0.1", "[::1]", ".", "",
    "u@example.org", "u:1@example.org", "exämple.org", "e%78ample.org", "a b", "a\\b",
  ]
  private static let ports = ["", ":", ":80", ":080", ":99999999", ":8x"]
  private static let rests = [
    "", "/", "/a.jpg", "?q", "/a/b.jpg?x=1&y=2", "/a%20b", "/a%2", "/a b", "/a#b", "/ä", "/a|b",
    "/a\"b", "/[x]", "/a\tb", "/~!$&'()*+,;=:@", "#x", "/a\u{FFFD}", " ", "/{}",
  ]

  @Test(arguments: Self.schemes, Self.hosts)
  func `what is recognised is what the parser makes of it`(scheme: String, host: String) throws {
    for port in Self.ports {
      for rest in Self.rests {
        let text = scheme + host + port + rest
        guard let normal = NormalURL(text) else { continue }
        let url = try ImageURL(normalising: try WrittenURL.completed(text))
        #expect(try ImageURL(normalising: text) == url)
        #expect(normal.text == url.text && normal.host == url.host, "\(text)")
        #expect(normal.origin == url.origin && !url.isLocal, "\(text)")
      }
    }
  }

  @Test(arguments: [
    "http://example.org", "https://example.org:8080/a.jpg?b=c", "http://127.0.0.1:80/x?y",
    "https://a-b.c_d/?",
  ])
  func `common URLs are recognised`(text: String) {
    #expect(NormalURL(text)?.text == text)
  }

  @Test(arguments: [
    "example.org/a", "HTTP://example.org/", "http://Example.org/", "http://example.org./",
    "http://u@example.org/", "http://example.org/a b", "http://example.org/%61",
    "http://example.org/#a", "http://ä.org/", "http:///a", "file:///a", "data:,a",
    "http://example.org/" + String(repeating: "a", count: ImageURL.maximumByteCount),
  ])
  func `all other URLs are left to the parser`(text: String) {
    #expect(NormalURL(text) == nil)
  }
}
