import ImgModel
import Testing

@Suite struct ImageURLTests {
  @Test(arguments: [
    ("https://example.com/a.jpg", "https://example.com/a.jpg", "example.com"),
    ("HTTP://Example.COM:8080/A?B=C#frag", "http://example.com:8080/A?B=C", "example.com"),
    ("http://user:Pass@Host/x", "http://user:Pass@host/x", "host"),
    ("http://[::1]:80/", "http://[::1]:80/", "[::1]"),
    ("http://example.com?x=/@y", "http://example.com?x=/@y", "example.com"),
    ("http://example.com#/a", "http://example.com", "example.com"),
  ])
  func `a URL is normalised`(line: String, text: String, host: String) throws {
    let url = try ImageURL(parsing: line)
    #expect(url.text == text)
    #expect(url.host == host)
  }

  @Test(arguments: [
    "https://h/a", "https://h:443/a", "http://h:8080", "http://H/", "http://h./", "http://h.:80/a",
    "http://h:/a", "http://user:word@h:81/", "http://a@b@h/", "http://h?x=@other:1",
  ])
  func `port, scheme, spelling and user do not change the host`(line: String) throws {
    #expect(try ImageURL(parsing: line).host == "h")
  }

  @Test(arguments: [
    ("http://[2001:DB8::1]/a", "[2001:db8::1]"), ("http://[2001:db8::1]:8080/", "[2001:db8::1]"),
    ("http://me@[::1]:80?x", "[::1]"), ("http://127.0.0.1:8000/", "127.0.0.1"),
    ("http://www.h/", "www.h"),
  ])
  func `different addresses and names are different hosts`(line: String, host: String) throws {
    #expect(try ImageURL(parsing: line).host == host)
  }

  @Test(
    arguments: [
      ("", Failure.Code.invalidURL), ("example.com/a.jpg", .invalidURL),
      ("//example.com", .invalidURL),
      ("http:example.com", .invalidURL), ("http://", .invalidURL), ("http:///a", .invalidURL),
      ("http://:80/", .invalidURL), ("http://./", .invalidURL), ("http://me@/", .invalidURL),
      ("http://a b/", .invalidURL), ("http://a/\u{1}", .invalidURL),
      ("http://a/\u{7F}", .invalidURL), ("http://a/\t", .invalidURL),
      ("http://a/\u{FFFD}", .invalidURL), ("1http://a/", .invalidURL), ("http:\\\\a", .invalidURL),
      ("ftp://example.com/a", .unsupportedScheme), ("gopher://a/etc/passwd", .unsupportedScheme),
      ("javascript:alert(1)", .unsupportedScheme), ("data:image/png", .invalidURL),
      ("data:,a\u{1}", .invalidURL),
    ] as [(String, Failure.Code)])
  func `an invalid or unsupported URL is refused`(line: String, code: Failure.Code) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(parsing: line) }
    #expect(failure.code == code)
    #expect(failure.stage == .queue)
    #expect(!failure.isRetryable)
  }

  @Test func `a URL has a maximum length`() throws {
    let base = "http://a/"
    let rest = ImageURL.maximumByteCount - base.utf8.count
    _ = try ImageURL(parsing: base + String(repeating: "x", count: rest))
    #expect(throws: Failure.self) {
      try ImageURL(parsing: base + String(repeating: "x", count: rest + 1))
    }
  }
}
