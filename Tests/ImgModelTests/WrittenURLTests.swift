import ImgModel
import Testing

/// URLs as people type them in lists.
@Suite struct WrittenURLTests {
  @Test(arguments: [
    ("example.org/a.jpg", "https://example.org/a.jpg"), ("example.org", "https://example.org"),
    ("//example.org/a.jpg", "https://example.org/a.jpg"),
    ("Example.ORG:8080/a b.jpg", "https://example.org:8080/a%20b.jpg"),
    ("localhost/a", "https://localhost/a"), ("localhost:80", "https://localhost:80"),
    ("nas:8080/a", "https://nas:8080/a"), ("127.0.0.1/a", "https://127.0.0.1/a"),
    ("[::1]/a", "https://[::1]/a"), ("[::1]:80", "https://[::1]:80"),
    ("example.org?a", "https://example.org?a"), ("example.org#a", "https://example.org"),
    ("例え。jp/a", "https://xn--r8jz45g.jp/a"), ("example.org./a", "https://example.org./a"),
    ("photo.jpg/a", "https://photo.jpg/a"), ("a.example/b.jpg", "https://a.example/b.jpg"),
    ("example.org/a:b@c", "https://example.org/a:b@c"),
    (" https://h/a\r", "https://h/a"), ("\u{FEFF}https://h/a", "https://h/a"),
    ("\u{A0}https://h/a\u{200B}", "https://h/a"), ("<https://h/a>", "https://h/a"),
    ("\"https://h/a,b\" ", "https://h/a,b"), ("< example.org/a >", "https://example.org/a"),
    ("data:,a", "data:,a"), ("<file:///srv/a.jpg>", "file:///srv/a.jpg"),
  ])
  func `a line is completed to a URL`(line: String, text: String) throws {
    #expect(try ImageURL(line: line).text == text)
  }

  @Test(
    arguments: [
      ("", .invalidURL), ("  ", .invalidURL), ("<>", .invalidURL), ("photo.jpg", .invalidURL),
      ("photo.HEIC", .invalidURL), ("images/a.jpg", .invalidURL), ("/srv/a.jpg", .invalidURL),
      ("./a.jpg", .invalidURL), ("../a.b/c", .invalidURL), ("a..b/c", .invalidURL),
      (".example.org/a", .invalidURL), ("//srv/a.jpg", .invalidURL), ("///a.b/c", .invalidURL),
      ("word", .invalidURL), ("two words.", .invalidURL), ("a.b c/d", .invalidURL),
      ("me@example.org", .invalidURL), ("//me:word@example.org/a", .invalidURL),
      ("a.b\\c.jpg", .invalidURL), ("\\\\server\\a.jpg", .invalidURL),
      ("?a", .invalidURL), ("#a", .invalidURL), (":80/a", .invalidURL),
      ("//h:x/a", .invalidURL), ("http:example.org", .invalidURL), ("https:8080", .invalidURL),
      ("C:\\a.jpg", .unsupportedScheme), ("nas:0/a", .unsupportedScheme),
      ("tel:5551234", .unsupportedScheme), ("ftp://h/a", .unsupportedScheme),
      ("me:word@example.org/a", .unsupportedScheme),
    ] as [(String, Failure.Code)])
  func `a line without a URL is refused`(line: String, code: Failure.Code) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(line: line) }
    #expect(failure.code == code)
    #expect(failure.stage == .queue)
  }

  /// Elsewhere a text without a scheme can be a cache key.
  @Test func `only lines may omit the scheme`() {
    #expect(throws: Failure.self) { try ImageURL(parsing: "example.org/a.jpg") }
    #expect(throws: Failure.self) { try ImageURL(parsing: "//example.org/a.jpg") }
  }

  @Test func `a long line is refused before it is parsed`() {
    let line = String(repeating: " ", count: ImageURL.maximumByteCount) + "https://h/"
    #expect(throws: Failure.self) { try ImageURL(line: line) }
  }
}
