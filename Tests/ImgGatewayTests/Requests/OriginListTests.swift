import ImgGateway
import ImgHTTP
import ImgModel
import Testing

@Suite struct OriginListTests {
  private func permits(_ pattern: String, _ url: String) throws -> Bool {
    try OriginList(parsing: [pattern]).permits(ImageURL(parsing: url))
  }

  @Test(arguments: [
    ("https://good.example", "https://good.example/a"), ("good.example", "http://good.example"),
    ("good.example", "https://good.example:443/a"), ("good.example", "http://good.example:80?x"),
    ("good.example", "http://good.example:/a"), ("good.example", "https://GOOD.example./a"),
    ("GOOD.Example.", "https://good.example/a"), ("good.example:8080", "http://good.example:8080/"),
    ("https://good.example/", "https://good.example"),
    ("good.example", "https://u:p@good.example/a"),
    ("*.good.example", "https://a.good.example/"), ("*.good.example", "https://a.b.good.example/"),
    ("https://*.good.example/", "https://a.good.example/b"), ("*", "https://h:443/"),
    ("*/a", "http://h/a/b"), ("https://*", "https://h/"), ("*:8080", "http://h:8080/"),
    ("good.example/pictures", "https://good.example/pictures"),
    ("good.example/pictures/", "https://good.example/pictures/a/b?c"),
    ("münchen.example", "https://xn--mnchen-3ya.example/"),
    ("xn--mnchen-3ya.example", "https://münchen.example/"),
    ("good.example", "https://ｇｏｏｄ。example/"), ("[::1]:8080", "http://[::1]:8080/a"),
    ("[::1]", "http://[::1]/a"),
    ("data:", "data:image/png;base64,aGVsbG8="), ("good.example/a", "https://good.example/a?../b"),
    ("good.example", "https://good.example/../a%2Fb"),
  ])
  func `an origin is permitted`(pattern: String, url: String) throws {
    #expect(try permits(pattern, url))
  }

  @Test(arguments: [
    ("good.example", "https://good.example@evil.example/"),
    ("good.example", "https://good.example:x@evil.example/"),
    ("good.example", "https://evil.example/good.example"),
    ("good.example", "https://evil.example/@good.example"),
    ("good.example", "https://evil.example?@good.example/"),
    ("good.example", "https://good.example.evil.example/"),
    ("good.example", "https://notgood.example/"), ("good.example", "https://a.good.example/"),
    ("good.example", "https://good.example:444/"), ("good.example", "https://good.example:80/"),
    ("good.example", "http://good.example:443/"), ("good.example", "http://good.example:22/"),
    ("good.example", "http://good.example:99999/"), ("good.example", "http://good.example:65616/"),
    ("good.example:443", "http://good.example/"), ("https://good.example", "http://good.example/"),
    ("*.good.example", "https://good.example/"), ("*.good.example", "https://notgood.example/"),
    ("*.good.example", "https://evil.example/.good.example"),
    ("good.example/pictures", "https://good.example/"),
    ("good.example/pictures", "https://good.example/picturesque"),
    ("good.example/pictures", "https://good.example/Pictures/a"),
    ("good.example/pictures", "https://good.example/pictures/../secret"),
    ("good.example/pictures", "https://good.example/pictures/%2e%2E/secret"),
    ("good.example/pictures", "https://good.example/pictures/.%2e"),
    ("good.example/pictures", "https://good.example/pictures/..;/secret"),
    ("good.example/pictures", "https://good.example/pictures%2F..%2Fsecret"),
    ("good.example/pictures", "https://good.example/pictures/%252e%252e/secret"),
    ("good.example/pictures", "https://good.example/pictures/..%5Csecret"),
    ("good.example/pictures", "https://good.example/pictures\\..\\secret"),
    ("good.example/pictures", "https://good.example?/pictures/"),
    ("*", "data:,a"), ("*", "file:///etc/passwd"), ("data:", "file:///etc/passwd"),
    ("data:", "https://data/"), ("127.0.0.1", "http://2130706433/"),
    ("[::1]", "http://[::1]:8080/"),
  ])
  func `another origin is not permitted`(pattern: String, url: String) throws {
    #expect(try !permits(pattern, url))
  }

  @Test(arguments: [
    "", "https://", "*.", "*.*", "a.*.example", "*good.example", "https://u@good.example",
    "good.example?x", "good.example/../a", "good.example/%2e%2e/", "good.example/a%2Fb", "a b",
    "good.example:x", "good.example:99999", "ftp://good.example", "file:", "file:///", "data:,a",
    "good.example\\a", "**", "/pictures", "HTTPS://good.example", "good.example#a",
  ])
  func `a text that is no origin is refused`(text: String) {
    #expect(throws: (any Error).self) { try OriginList(parsing: [text]) }
  }

  @Test func `without a list every origin is permitted, and nothing local`() throws {
    for list in [OriginList.all, try OriginList(parsing: [])] {
      #expect(list.permits(try ImageURL(parsing: "http://h:22/a")))
      #expect(!list.permits(try ImageURL(parsing: "data:,a")))
      #expect(!list.permits(try ImageURL(parsing: "file:///a")))
    }
  }

  @Test func `one entry of a list is enough`() throws {
    let list = try OriginList(parsing: ["a.example", "data:", "*.b.example"])
    for url in ["http://a.example/", "data:,x", "https://c.b.example/"] {
      #expect(list.permits(try ImageURL(parsing: url)))
    }
    #expect(!list.permits(try ImageURL(parsing: "https://b.example/")))
  }

  @Test func `the address and the default of a request must be permitted`() throws {
    let queries = ImageQueries(origins: try OriginList(parsing: ["good.example", "data:"]))
    for query in ["url=good.example/a&default=good.example/b", "url=data:,a"] {
      _ = try queries.weserv(RequestTarget("/?" + query))
    }
    for query in ["url=evil.example", "url=good.example&default=evil.example", "url=file:///a"] {
      let rejection = try #require(throws: RequestRejection.self) {
        try queries.weserv(RequestTarget("/?" + query))
      }
      #expect(rejection.status == .forbidden)
    }
    #expect(throws: RequestRejection.self) {
      try queries.imgproxy(
        RequestTarget("/_/plain/https://good.example%2540evil.example/"), now: WallTime(rawValue: 0)
      )
    }
  }
}
