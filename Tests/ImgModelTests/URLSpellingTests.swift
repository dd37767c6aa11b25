import ImgModel
import Testing

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
