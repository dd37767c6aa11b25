import ImgModel
import Testing

/// The one spelling of a URL, however people write it.
@Suite struct URLSpellingTests {
  @Test(arguments: [
    ("/a b.jpg", "/a%20b.jpg"), ("/a%20b.jpg", "/a%20b.jpg"), ("/a+b", "/a+b"),
    ("/ü.jpg", "/%C3%BC.jpg"), ("/%C3%BC.jpg", "/%C3%BC.jpg"), ("/u\u{308}", "/u%CC%88"),
    ("/あ/👍?q=ö&r=a b", "/%E3%81%82/%F0%9F%91%8D?q=%C3%B6&r=a%20b"), ("?a b", "?a%20b"),
    ("/a\\b|c^d`{e}\"<f>", "/a%5Cb%7Cc%5Ed%60%7Be%7D%22%3Cf%3E"), ("/\u{85}", "/%C2%85"),
    ("/100%.jpg", "/100%25.jpg"), ("/a%2", "/a%252"), ("/%zz%%41", "/%25zz%25%41"),
    ("/%", "/%25"), ("/a b#c d", "/a%20b"),
    // Signed URLs stay as they were signed.
    ("/%c3%bc?sig=%2f%2F%41", "/%c3%bc?sig=%2f%2F%41"),
    ("/[a](b)!$&'*,;=:@~-._?[]/?", "/[a](b)!$&'*,;=:@~-._?[]/?"),
  ])
  func `escapes stand for what no URI holds`(written: String, text: String) throws {
    let url = try ImageURL(parsing: "https://h" + written)
    #expect(url.text == "https://h" + text)
    #expect(try ImageURL(parsing: url.text) == url)
  }

  @Test(arguments: [
    ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.example", "xn--bcher-kva.example"),
    ("bu\u{308}cher.example", "xn--bcher-kva.example"),
    ("b%C3%BCcher.example", "xn--bcher-kva.example"), ("例え。jp", "xn--r8jz45g.jp"),
    ("例え.jp.", "xn--r8jz45g.jp."), ("faß.de", "xn--fa-hia.de"), ("☃.net", "xn--n3h.net"),
    ("１２７。0．0｡1", "127.0.0.1"), ("ex%61mple.org", "example.org"),
    ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("a_b.example", "a_b.example"),
    ("ab--c.example", "ab--c.example"), ("xn--0.example", "xn--0.example"),
  ])
  func `a host name is written as name servers know it`(written: String, name: String) throws {
    let url = try ImageURL(parsing: "http://\(written):80/ü")
    #expect(url.text == "http://\(name):80/%C3%BC")
    #expect(url.origin == "http://\(name):80")
    #expect(url.host == (name.hasSuffix(".") ? String(name.dropLast()) : name))
    #expect(try ImageURL(parsing: url.text) == url)
  }

  @Test func `credentials have one spelling, too`() throws {
    let url = try ImageURL(parsing: "http://us%40er:pä|ss@H/")
    #expect(url.text == "http://us%40er:p%C3%A4%7Css@h/")
    #expect(url.origin == "http://h")
  }

  @Test(arguments: [
    "ex／ample.org", "ex＠ample.org", "example.org：80", "℀.org", "％31", "ex%2Fample.org",
    "ex%40ample.org", "ex%00ample.org", "ex%FFample.org", "ex%zzample.org", "ex<ample.org",
    "-ü.example", "\u{AD}", "ü\u{FFFE}.example", "ex\\ample.org", "me\\@h",
    "[::1", "[::１]", "[::1]x", "h:８０", "h:80x", "a b", "", ".", "me@", "\u{3000}.org",
    String(repeating: "ü", count: 64) + ".example", String(repeating: "ü.", count: 600) + "org",
  ])
  func `what is no host is refused`(written: String) throws {
    let failure = try #require(throws: Failure.self) {
      try ImageURL(parsing: "http://\(written)/a")
    }
    #expect(failure.code == .invalidURL)
  }

  @Test func `the limit of length counts escapes`() throws {
    let count = (ImageURL.maximumByteCount - "https://h/".utf8.count) / 3
    #expect(
      try ImageURL(parsing: "https://h/" + String(repeating: " ", count: count)).text.utf8.count
        <= ImageURL.maximumByteCount)
    #expect(throws: Failure.self) {
      try ImageURL(parsing: "https://h/" + String(repeating: " ", count: count + 1))
    }
  }
}

/// URLs as they stand in lists.
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
  func `a line stands for a URL`(line: String, text: String) throws {
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
  func `a line that stands for no URL is refused`(line: String, code: Failure.Code) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(line: line) }
    #expect(failure.code == code)
    #expect(failure.stage == .queue)
  }

  /// Elsewhere a text without a scheme is something else, such as a name that a person made up.
  @Test func `only lines may leave the scheme out`() {
    #expect(throws: Failure.self) { try ImageURL(parsing: "example.org/a.jpg") }
    #expect(throws: Failure.self) { try ImageURL(parsing: "//example.org/a.jpg") }
  }

  @Test func `a long line is refused before it is read`() {
    let line = String(repeating: " ", count: ImageURL.maximumByteCount) + "https://h/"
    #expect(throws: Failure.self) { try ImageURL(line: line) }
  }
}
