import FoundationEssentials
import ImgModel
import Testing

@Suite struct OriginListTests {
  private func list(_ patterns: String...) throws -> OriginList {
    try OriginList(patterns.map { try OriginPattern(parsing: $0) })
  }

  private func permits(_ pattern: String, _ url: String) throws -> Bool {
    try list(pattern).permits(ImageURL(parsing: url))
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
    #expect(throws: InvalidFetchOption.self) { try OriginPattern(parsing: text) }
  }

  @Test func `without a list every origin is permitted, and nothing local`() throws {
    for list in [OriginList.all, try list()] {
      #expect(list.permits(try ImageURL(parsing: "http://h:22/a")))
      #expect(!list.permits(try ImageURL(parsing: "data:,a")))
      #expect(!list.permits(try ImageURL(parsing: "file:///a")))
    }
  }

  @Test func `one entry of a list is enough`() throws {
    let list = try list("a.example", "data:", "*.b.example")
    for url in ["http://a.example/", "data:,x", "https://c.b.example/"] {
      #expect(list.permits(try ImageURL(parsing: url)))
    }
    #expect(!list.permits(try ImageURL(parsing: "https://b.example/")))
  }

  @Test func `the order of a list and repetitions make no difference`() throws {
    #expect(try list("a.example", "b.example") == list("b.example", "a.example", "b.example"))
    #expect(try list("a.example") != list("b.example"))
    #expect(try list() == .all)
  }

  @Test func `a list has a limit of entries and of bytes`() throws {
    let pattern = try OriginPattern(parsing: "a.example")
    _ = try OriginList(Array(repeating: pattern, count: OriginList.maximumCount))
    #expect(throws: InvalidFetchOption.self) {
      try OriginList(Array(repeating: pattern, count: OriginList.maximumCount + 1))
    }
    let path = String(repeating: "a", count: OriginList.maximumByteCount / 2 - 10)
    _ = try list("a.example/" + path, "b.example/" + path)
    #expect(throws: InvalidFetchOption.self) {
      try list("a.example/" + path, "b.example/" + path + "b")
    }
  }

  @Test func `a list is an array of texts, and is left out where all is permitted`() throws {
    var options = FetchOptions(redirectOrigins: try list("b.example", "*.a.example:8080/x"))
    let text = #""redirect_origins":["*.a.example:8080\/x","b.example"]"#
    #expect(try json(options).contains(text))
    #expect(try decoded(json(options)) == options)
    options.redirectOrigins = .all
    #expect(try !json(options).contains("redirect_origins"))
    #expect(try decoded(json(options)) == options)
  }

  @Test(arguments: ["[1]", #"["ftp://a.example"]"#, #""a.example""#])
  func `a list with an entry that is no origin is not decoded`(list: String) throws {
    let text = try json(.standard).dropFirst()
    #expect(throws: DecodingError.self) {
      try decoded(#"{"redirect_origins":\#(list),"# + text)
    }
  }

  private func json(_ options: FetchOptions) throws -> String {
    String(decoding: try JSONEncoder().encode(options), as: UTF8.self)
  }

  private func decoded(_ text: String) throws -> FetchOptions {
    try JSONDecoder().decode(FetchOptions.self, from: Data(text.utf8))
  }
}
