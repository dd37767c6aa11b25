import FoundationEssentials
import ImgModel
import Testing

/// The names of pictures.
@Suite(.timeLimit(.minutes(20))) struct PictureNameTests {
  @Test(arguments: [
    ("http://h/a?b=1&c=2", ["b"], "http://h/a?c=2"),
    ("http://h/a?b=1&c=2", ["c"], "http://h/a?b=1"),
    ("http://h/a?c=2&b=1&a=0", ["b"], "http://h/a?c=2&a=0"),
    ("http://h/a?b=1", ["b"], "http://h/a"),
    ("http://h/a?b", ["b"], "http://h/a"),
    ("http://h/a?b=1&b=2&c", ["b"], "http://h/a?c"),
    ("http://h/a?b=1&c=b=1", ["b"], "http://h/a?c=b=1"),
    ("http://h/a?bb=1", ["b"], "http://h/a?bb=1"),
    ("http://h/a?B=1", ["b"], "http://h/a?B=1"),
    ("http://h/a?%62=1", ["b"], "http://h/a?%62=1"),
    ("http://h/a?%62=1", ["%62"], "http://h/a"),
    ("http://h/a?", ["b"], "http://h/a"),
    ("http://h/a", ["b"], "http://h/a"),
    ("http://h/a?&&b=1&", ["b"], "http://h/a?&&"),
    ("http://h?b=1", ["b"], "http://h"),
    ("http://h/a?b=1?c=2&d", ["b"], "http://h/a?d"),
    ("http://h/?ü=1&é=2", ["ü"], "http://h/?%C3%A9=2"),
    ("http://h/?%C3%BC=1&{v}=2&b", ["ü*", "{v}"], "http://h/?b"),
    ("http://h/a?X-Amz-Date=1&X-Amz-Signature=2&v=3", ["X-Amz-*"], "http://h/a?v=3"),
    ("http://h/a?X-Amz-=1&X-Amz=2", ["X-Amz-*"], "http://h/a?X-Amz=2"),
    ("http://h/a?x-amz-date=1", ["X-Amz-*"], "http://h/a?x-amz-date=1"),
    ("http://h/a?b=1&c=2", ["*"], "http://h/a"),
    ("http://h/a?utm_source=1&v=2&token=3", ["utm_*", "token"], "http://h/a?v=2"),
    ("http://h/a?abcabd=1&abcab=2", ["*abd"], "http://h/a?abcab=2"),
    ("http://h/a?axbxc=1&abc=2&ab=3", ["a*b*c"], "http://h/a?ab=3"),
    ("http://h/a?b=1", [], "http://h/a?b=1"),
    ("http://h/a?", [], "http://h/a?"),
  ])
  func `ignored parameters are not in the name and the others are unchanged`(
    url: String, patterns: [String], name: String
  ) throws {
    let options = FetchOptions(ignoredQuery: try QueryFilter(patterns))
    #expect(options.name(of: try ImageURL(parsing: url)).text == name)
  }

  @Test func `what is sent to the host of a URL alone is in the names of its pictures alone`()
    throws
  {
    let field = try HeaderField(name: "authorization", value: "secret", onlyTo: "h")
    let options = FetchOptions(headers: try HeaderFields([field]), referer: .ownOrigin)
    func fields(of url: String) throws -> [String] {
      options.name(of: try ImageURL(parsing: url)).headers.map { "\($0.name): \($0.value)" }
    }
    #expect(try fields(of: "http://h:81/a") == ["authorization: secret", "referer: http://h:81/"])
    #expect(try fields(of: "https://g/a") == ["referer: https://g/"])
    // As curl(1) does it, a URL's own password counts before that of its host.
    #expect(try fields(of: "http://a:b@h/a") == ["referer: http://h/"])
    #expect(try fields(of: "data:,") == [])
    #expect(options.forOtherOrigin == options)
    // No redirect can send what the name does not tell of.
    for (url, isOfHost) in [
      ("http://h:81/a", true), ("http://g/a", false), ("http://a:b@h/", false),
    ] {
      let narrowed = options.narrowed(to: try ImageURL(parsing: url))
      #expect(narrowed.headers == (isOfHost ? options.headers : .none))
    }
  }

  @Test func `the query filter does not apply to a data URL`() throws {
    let url = try ImageURL(parsing: "data:image/svg+xml,<svg?b=1&c=2/>")
    let options = FetchOptions(ignoredQuery: try QueryFilter(["*"]))
    #expect(options.name(of: url).text == url.text)
  }

  @Test(arguments: ["", "a b", "a&b", "a=b", "a#b", "a\n", String(repeating: "a", count: 257)])
  func `a pattern that matches no parameter is refused`(pattern: String) {
    #expect(throws: InvalidFetchOption.self) { try QueryFilter([pattern]) }
    let json = try? JSONEncoder().encode([pattern])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(QueryFilter.self, from: try #require(json))
    }
  }

  @Test func `patterns are a set of limited size`() throws {
    #expect(try QueryFilter(["b", "a", "b"]) == QueryFilter(["a", "b"]))
    #expect(throws: InvalidFetchOption.self) { try QueryFilter((0...32).map { "a\($0)" }) }
  }

  @Test func `a cache key replaces the URL, but not the headers`() throws {
    let headers = try HeaderFields([HeaderField(name: "a", value: "b")])
    let options = FetchOptions(headers: headers, cacheKey: try CacheKey("photo-17"))
    let name = options.name(of: try ImageURL(parsing: "http://h/a?b=1"))
    #expect(name == PictureName(text: "photo-17", headers: Array(headers)))
  }

  @Test(arguments: ["", "a b", "a\n", "a\0b", String(repeating: "a", count: 8_193)])
  func `a cache key with spaces or control characters is refused`(key: String) {
    #expect(throws: InvalidFetchOption.self) { try CacheKey(key) }
  }

  @Test(arguments: [
    ("http://h/a", "http://h"), ("HTTPS://u:p@H:81/a?b", "https://h:81"),
    ("http://[::1]:80?a", "http://[::1]:80"), ("data:,a", ""),
  ])
  func `the origin of a URL is scheme, host and port`(url: String, origin: String) throws {
    #expect(try ImageURL(parsing: url).origin == origin)
  }
}
