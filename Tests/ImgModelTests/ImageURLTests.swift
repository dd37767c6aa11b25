import Testing

@testable import ImgModel

@Suite struct HostGroupTests {
  @Test(arguments: [
    ("a.b.example.org", "example.org"), ("example.org", "example.org"), ("localhost", "localhost"),
    ("img.example.co.uk", "example.co.uk"), ("example.co.uk", "example.co.uk"),
    ("img.example.de", "example.de"), ("127.0.0.1", "127.0.0.1"),
    ("[2001:db8::1]", "[2001:db8:0:0::/64]"), ("[2001:DB8:0::ffff:1]", "[2001:db8:0:0::/64]"),
    ("[2001:db8:0:0:1:2:3:4]", "[2001:db8:0:0::/64]"),
    ("[2001:db8:1:2::]", "[2001:db8:1:2::/64]"), ("[1::7:8:9:10:11]", "[1:0:0:7::/64]"),
    ("[1::5:6:7:192.0.2.1]", "[1:0:0:5::/64]"), ("[::1]", "[::1]"),
    ("[::ffff:192.0.2.1]", "[::ffff:192.0.2.1]"),
  ])
  func `a group is what is below a registrable domain or an IPv6 network, or an address`(
    host: String, group: String
  ) {
    #expect(HostGroup.name(of: host) == group)
  }
}

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

  @Test func `the data of a data URL has a maximum size, however it is written`() throws {
    let whole = DataURL.maximumByteCount / 3
    let written = { (count: Int) in
      "data:image/png;base64," + String(repeating: "AAAA", count: count)
    }
    #expect(try DataURL.contents(of: ImageURL(line: written(whole)))?.count == whole * 3)
    let failure = #expect(throws: Failure.self) { try ImageURL(line: written(whole + 1)) }
    #expect(failure?.detail.hasPrefix("the data: URL holds more than 32 KiB") == true)
    let escapes = { (count: Int) in "DATA:," + String(repeating: "%41", count: count) }
    let fitting = (ImageURL.maximumLineByteCount - 6) / 3
    #expect(try DataURL.contents(of: ImageURL(line: escapes(fitting)))?.count == fitting)
    #expect(throws: Failure.self) { try ImageURL(line: escapes(fitting + 1)) }
  }
}

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

/// The normalisation of URLs.
@Suite struct URLSpellingTests {
  @Test(arguments: [
    ("/a b.jpg", "/a%20b.jpg"), ("/a%20b.jpg", "/a%20b.jpg"), ("/a+b", "/a+b"),
    ("/ü.jpg", "/%C3%BC.jpg"), ("/%C3%BC.jpg", "/%C3%BC.jpg"), ("/u\u{308}", "/u%CC%88"),
    ("/あ/👍?q=ö&r=a b", "/%E3%81%82/%F0%9F%91%8D?q=%C3%B6&r=a%20b"), ("?a b", "?a%20b"),
    ("/a\\b|c^d`{e}\"<f>", "/a%5Cb%7Cc%5Ed%60%7Be%7D%22%3Cf%3E"), ("/\u{85}", "/%C2%85"),
    ("/100%.jpg", "/100%25.jpg"), ("/a%2", "/a%252"), ("/%zz%%41", "/%25zz%25%41"),
    ("/%", "/%25"), ("/a b#c d", "/a%20b"),
    // Escapes of signed URLs do not change.
    ("/%c3%bc?sig=%2f%2F%41", "/%c3%bc?sig=%2f%2F%41"),
    ("/[a](b)!$&'*,;=:@~-._?[]/?", "/[a](b)!$&'*,;=:@~-._?[]/?"),
  ])
  func `characters that URIs do not allow are escaped`(written: String, text: String) throws {
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
  func `a host name is normalised for DNS`(written: String, name: String) throws {
    let url = try ImageURL(parsing: "http://\(written):80/ü")
    #expect(url.text == "http://\(name):80/%C3%BC")
    #expect(url.origin == "http://\(name):80")
    #expect(url.host == (name.hasSuffix(".") ? String(name.dropLast()) : name))
    #expect(try ImageURL(parsing: url.text) == url)
  }

  @Test func `credentials are normalised`() throws {
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
  func `an invalid host is refused`(written: String) throws {
    let failure = try #require(throws: Failure.self) {
      try ImageURL(parsing: "http://\(written)/a")
    }
    #expect(failure.code == .invalidURL)
  }

  @Test func `the length limit counts escapes`() throws {
    let count = (ImageURL.maximumByteCount - "https://h/".utf8.count) / 3
    #expect(
      try ImageURL(parsing: "https://h/" + String(repeating: " ", count: count)).text.utf8.count
        <= ImageURL.maximumByteCount)
    #expect(throws: Failure.self) {
      try ImageURL(parsing: "https://h/" + String(repeating: " ", count: count + 1))
    }
  }
}

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
    ("\"https://h/a,b\" ", "https://h/a,b"), ("'https://h/a'", "https://h/a"),
    ("< example.org/a >", "https://example.org/a"), ("\"https://h/a\",", "https://h/a"),
    ("“https://h/a”", "https://h/a"), ("„https://h/a“", "https://h/a"),
    ("‘https://h/a’,", "https://h/a"),
    ("`https://h/a`", "https://h/a"), ("«https://h/a»", "https://h/a"),
    ("https://h/a,", "https://h/a,"),
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

  @Test(arguments: [
    ("http://h/a.jpg a dog", "text behind the URL; write a space in the URL as %20"),
    ("h.org/a.jpg # comment", "text behind the URL; write a space"),
    ("HTTPS://h/a.jpg\ta cat", "text behind the URL (a tab)"),
  ])
  func `a line of a job is all URL`(line: String, reason: String) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(listed: line) }
    #expect(failure.code == .invalidURL && failure.detail.contains(reason))
  }

  @Test(arguments: [
    " https://h/a%20b ", "< https://h/a >", "https://h/a#b", "file:///srv/my a.jpg", "data:,a b",
  ])
  func `a line of a job may have spaces around the URL, and those of a local picture`(line: String)
    throws
  {
    #expect(try ImageURL(listed: line) == ImageURL(line: line))
  }

  /// Elsewhere a text without a scheme can be a cache key.
  @Test func `only lines may omit the scheme`() {
    #expect(throws: Failure.self) { try ImageURL(parsing: "example.org/a.jpg") }
    #expect(throws: Failure.self) { try ImageURL(parsing: "//example.org/a.jpg") }
  }

  @Test func `a long line is refused before it is parsed`() {
    let line = String(repeating: " ", count: ImageURL.maximumLineByteCount) + "https://h/"
    #expect(throws: Failure.self) { try ImageURL(line: line) }
  }
}

/// URLs with passwords in texts for people.
@Suite(.timeLimit(.minutes(20))) struct URLPasswordTests {
  @Test(arguments: [
    ("http://ada:secret@h/a.jpg", "http://ada:***@h/a.jpg"),
    ("https://ada:secret@h:8443?x=1", "https://ada:***@h:8443?x=1"),
    ("http://:secret@h/", "http://:***@h/"),
    ("http://ada:se:cr@et@h/", "http://ada:***@h/"),
    ("http://ada:se/cret@h/", "http://ada:***@h/"),
    ("ftp://ada:secret@h#f", "ftp://ada:***@h#f"),
    ("http://ada:secret@[::1]:80/", "http://ada:***@[::1]:80/"),
    (
      "the redirect from http://a:secret@h/1 to http://b:secret@i/2, which",
      "the redirect from http://a:***@h/1 to http://b:***@i/2, which"
    ),
    ("http://h/?next=http://a:secret@i/", "http://h/?next=http://a:***@i/"),
    ("http://ü:secret@h/ü", "http://ü:***@h/ü"),
    ("ada:secret@h/a.jpg", "ada:***@h/a.jpg"),
    ("//ada:secret@h/a.jpg", "//ada:***@h/a.jpg"),
    ("imgctl: ada:secret@h/a.jpg: invalid_url", "imgctl: ada:***@h/a.jpg: invalid_url"),
  ])
  func `a password is replaced`(text: String, shown: String) {
    #expect(text.withoutPasswords == shown)
    #expect(Failure(stage: .fetch, code: .internal, detail: text).detail == shown)
  }

  @Test(arguments: [
    "", "http://", "://", "http://h/a.jpg", "http://ada@h/", "http://ada:@h/", "http://h:80/a@b",
    "http://[::1]/a:b@c", "http://h/a:b@c", "mailto:ada@example.org", "http://h/?mail=a:b@c",
  ])
  func `a text without passwords is unchanged`(text: String) {
    #expect(text.withoutPasswords == text)
  }
}

@Suite struct DataURLTests {
  private func contents(_ line: String) throws -> String? {
    try DataURL.contents(of: ImageURL(parsing: line)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    ("data:,hello", "hello"), ("data:text/plain,a%20b%2C%63", "a b,c"), ("data:,", ""),
    ("data:image/svg+xml,<svg xmlns='a b'/>", "<svg xmlns='a b'/>"), ("data:,100%", "100%"),
    ("data:,%zz%4", "%zz%4"), ("data:,a#b", "a"), ("data:,a\tb", "ab"), ("data:,ü", "ü"),
    ("data:;base64,aGVsbG8=", "hello"), ("data:;base64,aGVsbG8", "hello"),
    ("DATA:image/png;BASE64,aGVsbG8%3D", "hello"), ("data:;base64,aGVs bG8=", "hello"),
    ("data:;base64,aGVs%0AbG8=%20", "hello"), ("data:a ;base64,aGVs\nbG8=", "hello"),
    ("data:;base64,/+8A", "\u{FFFD}\u{FFFD}\0"), ("data:;base64,", ""),
    ("data:base64,aGVs", "aGVs"), ("data:;base64;x=y,aGVs", "aGVs"),
    ("data:;base64,aGVsbA==", "hell"), ("data:;base64,aGVsbA", "hell"),
    ("data:;base64,aGVsbB==", "hell"), ("data:;base64,aGVsbG9=", "hello"),
  ])
  func `a data URL contains its bytes`(line: String, bytes: String) throws {
    #expect(try contents(line) == bytes)
  }

  @Test(arguments: [
    "data:;base64,a", "data:;base64,aGVsb", "data:;base64,aG-_", "data:;base64,a=b=",
    "data:;base64,aGVsbG8==", "data:;base64,====", "data:;base64,=", "data:;base64,a===",
  ])
  func `invalid base64 is refused`(line: String) throws {
    let failure = try #require(throws: Failure.self) { try contents(line) }
    #expect(failure.code == .invalidURL)
    #expect(failure.stage == .fetch)
    #expect(!failure.isRetryable)
  }

  @Test(arguments: [
    ("DATA:image/png;base64,aG Vs#x", "data:image/png;base64,aGVs"),
    (
      "data:image/svg+xml; charset=utf-8,<svg a='b'>",
      "data:image/svg+xml;charset=utf-8,<svg%20a='b'>"
    ),
  ])
  func `a data URL is normalised`(line: String, text: String) throws {
    let url = try ImageURL(parsing: line)
    #expect(url.text == text)
    #expect(try ImageURL(parsing: url.text) == url)
  }

  @Test func `a data URL is local and its host is not a host name`() throws {
    let url = try ImageURL(parsing: "data:,a")
    #expect(url.isLocal)
    #expect(url.host.contains("/"))
    #expect(try !ImageURL(parsing: "http://data/").isLocal)
    #expect(try DataURL.contents(of: ImageURL(parsing: "http://data/,a")) == nil)
  }

  @Test func `the URL of an uploaded picture is not parsable`() {
    let url = ImageURL(uploaded: 17)
    #expect(url.isLocal)
    #expect(throws: Failure.self) { try ImageURL(parsing: url.text) }
  }

  @Test func `the length limit counts spaces as their escapes`() throws {
    let blanks = { (count: Int) in "data:image/svg+xml," + String(repeating: " ", count: count) }
    #expect(try ImageURL(parsing: blanks(1_000) + "x").text.utf8.count == 3_020)
    let failure = #expect(throws: Failure.self) { try ImageURL(parsing: blanks(30_000) + "x") }
    #expect(failure?.code == .invalidURL)
    #expect(failure?.stage == .queue)
  }
}

/// URLs of files on this machine (RFC 8089).
@Suite(.timeLimit(.minutes(20))) struct FileURLTests {
  @Test(arguments: [
    ("file:///srv/a.jpg", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("file:/srv/a.jpg", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("FILE://LocalHost/srv/a.jpg", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("file:///srv/a.jpg#part", "/srv/a.jpg", "file:///srv/a.jpg"),
    ("file:///%73rv/%C3%BC%20%3F%23%25.jpg", "/srv/ü ?#%.jpg", "file:///srv/ü%20%3F%23%25.jpg"),
    ("file:///srv/100%.jpg", "/srv/100%.jpg", "file:///srv/100%25.jpg"),
    ("file:///srv/my a.jpg", "/srv/my a.jpg", "file:///srv/my%20a.jpg"),
    ("file:///srv/a..b/...", "/srv/a..b/...", "file:///srv/a..b/..."),
  ])
  func `a file URL has a path and is normalised`(line: String, path: String, text: String) throws {
    let url = try ImageURL(parsing: line)
    #expect(url.text == text)
    #expect(url.isFile && url.isLocal)
    #expect(try FileURL.path(of: url.text) == path)
    #expect(try ImageURL(parsing: text) == url)
  }

  @Test(arguments: [
    "file:a.jpg", "file:./a.jpg", "file:", "file://", "file://srv", "file://srv/a.jpg",
    "file:///srv/../a.jpg", "file:///srv/%2E%2e/a.jpg", "file:///srv/./a.jpg", "file:///..",
    "file:///a%00.jpg", "file:///a.jpg?size=1", "file:///%FF.jpg", "file:///a\tb.jpg",
    "file://127.0.0.1/a.jpg", "file:////" + String(repeating: "%", count: 8_000),
  ])
  func `a file URL without a valid local path is refused`(line: String) throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(parsing: line) }
    #expect(failure.code == .invalidURL)
    #expect(failure.stage == .queue)
  }

  @Test func `a line with a # in a file URL is refused, because most mean the name`() throws {
    let failure = try #require(throws: Failure.self) { try ImageURL(line: "file:///srv/a #1.jpg") }
    #expect(failure.detail.hasSuffix("; write %23, or the path without file://"))
  }

  @Test func `URLs of other schemes are not file URLs`() throws {
    #expect(try FileURL.path(of: "http://example.com/file:///a") == nil)
    #expect(try !ImageURL(parsing: "http://file/a").isFile)
    #expect(try !ImageURL(parsing: "data:,a").isFile)
  }
}
