import FoundationEssentials
@_spi(Coding) import ImgModel
import Testing

/// Cookies of a user's file, and the requests that they are for.
struct CookieTests {
  private static let sample = "example.org\tTRUE\t/\tFALSE\t0\tid\t7"

  @Test(arguments: [
    sample, ".example.org\tTRUE\t/\tFALSE\t\tid\t7", "EXAMPLE.org\ttrue\t/\tfalse\t-1\tid\t7",
    "example.org\tTRUE\tnone\tFALSE\t0.5\tid\t7",
  ])
  func `a line is read as the programs that write it spell it`(line: String) throws {
    #expect(try Cookie(line: line).line == Self.sample)
  }

  @Test(arguments: [
    (
      "bücher.example\tFALSE\t/a\tTRUE\t9.75\tid\t",
      "xn--bcher-kva.example\tFALSE\t/a\tTRUE\t9\tid\t"
    ),
    ("h\tFALSE\t/\tFALSE\t0\tid", "h\tFALSE\t/\tFALSE\t0\tid\t"),
    ("h\tFALSE\t/\tFALSE\t0\tid\ta=b; é", "h\tFALSE\t/\tFALSE\t0\tid\ta=b; é"),
  ])
  func `a value may be missing, and is kept as it stands`(line: String, kept: String) throws {
    #expect(try Cookie(line: line).line == kept)
  }

  @Test(arguments: [
    "", "secret", "id=secret", "h TRUE / FALSE 0 id secret", "h\tTRUE\t/\tFALSE\t0",
    "h\tTRUE\t/\tFALSE\t0\tid\tsecret\tsecret", "h\tyes\t/\tFALSE\t0\tid\tsecret",
    "h\tTRUE\t/\t0\t0\tid\tsecret", "h\tTRUE\t/\tFALSE\tsecret\tid\t",
    "h\tTRUE\t/\tFALSE\tnan\ta\t",
    "\tTRUE\t/\tFALSE\t0\tid\tsecret", "h:1\tTRUE\t/\tFALSE\t0\tid\tsecret",
    "h\tTRUE\t/\tFALSE\t0\t\tsecret", "h\tTRUE\t/\tFALSE\t0\tid\tsecret\u{1}",
  ])
  func `another line is refused without showing what it holds`(line: String) {
    let error = #expect(throws: InvalidFetchOption.self) { try Cookie(line: line) }
    #expect(error?.description.contains("secret") == false)
  }

  @Test(arguments: [(0, false), (-1, false), (1_000, true), (1_001, false)])
  func `a cookie expires at its moment`(expiry: Int, hasExpired: Bool) throws {
    let cookie = try Cookie(line: "h\tTRUE\t/\tFALSE\t\(expiry)\tid\t7")
    #expect(cookie.hasExpired(at: WallTime(rawValue: 1_000_500)) == hasExpired)
  }

  // MARK: - The requests that they are for

  private func cookies(_ lines: String...) throws -> Cookies {
    try Cookies(try lines.map(Cookie.init(line:)))
  }

  /// RFC 6265 sections 5.1.3 and 5.1.4.
  @Test(arguments: [
    ("example.org\tFALSE\t/", "http://example.org/a", true),
    ("example.org\tFALSE\t/", "https://example.org:81?a", true),
    ("example.org\tFALSE\t/", "http://Example.ORG./a", true),
    ("example.org\tFALSE\t/", "http://a.example.org/", false),
    ("example.org\tTRUE\t/", "http://a.b.example.org/", true),
    ("example.org\tTRUE\t/", "http://anexample.org/", false),
    ("example.org\tTRUE\t/", "http://example.org.evil.example/", false),
    ("a.example.org\tTRUE\t/", "http://example.org/", false),
    ("0.0.1\tTRUE\t/", "http://127.0.0.1/", false),
    ("127.0.0.1\tTRUE\t/", "http://127.0.0.1/", true),
    ("h\tTRUE\t/a", "http://h/a", true), ("h\tTRUE\t/a", "http://h/a/b?c", true),
    ("h\tTRUE\t/a/", "http://h/a/b", true), ("h\tTRUE\t/a", "http://h/ab", false),
    ("h\tTRUE\t/a", "http://h/", false), ("h\tTRUE\t/a/", "http://h/a", false),
    ("h\tTRUE\t/", "data:,h", false),
  ])
  func `a cookie is for its domain and path`(start: String, url: String, isFor: Bool) throws {
    let found = try cookies("\(start)\tFALSE\t0\tid\t7").matching(ImageURL(parsing: url))
    #expect(found.isEmpty != isFor)
  }

  @Test func `a picture has another name only where cookies are for its URL`() throws {
    let plain = FetchOptions()
    let ours = FetchOptions(cookies: try cookies("h\tTRUE\t/a\tFALSE\t0\tid\t7"))
    let other = FetchOptions(cookies: try cookies("h\tTRUE\t/a\tFALSE\t0\tid\t8"))
    // An export of another day, in another order.
    let later = FetchOptions(
      cookies: try cookies("i\tTRUE\t/\tFALSE\t0\tx\t1", "h\tTRUE\t/a\tFALSE\t99\tid\t7"))
    let (inside, outside) = try (ImageURL(parsing: "http://h/a/b"), ImageURL(parsing: "http://h/b"))
    #expect(ours.name(of: inside) == later.name(of: inside))
    #expect(Set([plain, ours, other].map { $0.name(of: inside) }).count == 3)
    #expect(Set([plain, ours, other, later].map { $0.name(of: outside) }).count == 1)
    #expect(later.narrowed(to: inside).cookies.lines == ["h\tTRUE\t/a\tFALSE\t99\tid\t7"])
    #expect(later.narrowed(to: inside).name(of: inside) == later.name(of: inside))
    #expect(later.narrowed(to: outside) == plain)
  }

  @Test func `a later cookie replaces an earlier one`() throws {
    let lines = ["h\tTRUE\t/\tFALSE\t0\tid\t1", "h\tTRUE\t/a\tFALSE\t0\tid\t2"]
    let all = try cookies(lines[0], lines[1], "h\tFALSE\t/\tTRUE\t0\tid\t3")
    #expect(all.lines == [lines[1], "h\tFALSE\t/\tTRUE\t0\tid\t3"])
  }

  @Test func `the number and the size of cookies are limited`() throws {
    let many = try (0..<Cookies.maximumCount).map {
      try Cookie(line: "h\tTRUE\t/\tFALSE\t0\t\($0)\t")
    }
    #expect(try Cookies(many).lines.count == many.count)
    #expect(throws: InvalidFetchOption.self) { try Cookies(many + [many[0]]) }
    let room = Cookies.maximumByteCount - "h\tTRUE\t/\tFALSE\t0\tid\t\n".utf8.count
    for (count, isTaken) in [(room, true), (room + 1, false)] {
      let value = String(repeating: "x", count: count)
      let cookie = try Cookie(line: "h\tTRUE\t/\tFALSE\t0\tid\t\(value)")
      #expect(((try? Cookies([cookie])) != nil) == isTaken)
    }
  }

  @Test func `cookies are encoded, but not for people`() throws {
    let options = FetchOptions(cookies: try cookies("h\tTRUE\t/\tFALSE\t0\tname\tvalue"))
    let encoder = JSONEncoder()
    let sent = try encoder.encode(options)
    #expect(try JSONDecoder().decode(FetchOptions.self, from: sent) == options)
    encoder.userInfo[.isForPeople] = true
    let shown = String(decoding: try encoder.encode(options), as: UTF8.self)
    #expect(!shown.contains("name") && !shown.contains("value"))
    #expect(
      !String(decoding: try encoder.encode(FetchOptions()), as: UTF8.self).contains("cookies"))
  }
}

/// Which headers users may set, and what outputs show of them.
@Suite(.timeLimit(.minutes(20))) struct HeaderFieldTests {
  @Test(arguments: [
    ("Referer", "https://example.org/", "referer", "https://example.org/"),
    ("AUTHORIZATION", " \tBearer a=b  ", "authorization", "Bearer a=b"),
    ("x-!#$%&'*+.^_`|~9", "", "x-!#$%&'*+.^_`|~9", ""),
    ("Accept", "image/jpeg", "accept", "image/jpeg"),
    ("X-Name", "Zoë\tQ", "x-name", "Zoë\tQ"),
  ])
  func `a field is normalised`(name: String, value: String, known: String, sent: String) throws {
    let field = try HeaderField(name: name, value: value)
    #expect(field.name == known)
    #expect(field.value == sent)
  }

  @Test(arguments: ["", "a b", "a:", "ä", "a\r", "a\n", "a(", "a/b", "a\0"])
  func `a name that is not a token is refused`(name: String) {
    #expect(throws: InvalidFetchOption.self) { try HeaderField(name: name, value: "x") }
  }

  @Test(arguments: ["a\rb", "a\nb", "a\r\nb: c", "a\0b", "a\u{7F}b", "a\u{1B}b", "a\n"])
  func `a value with a control character is refused`(value: String) {
    #expect(throws: InvalidFetchOption.self) { try HeaderField(name: "x-a", value: value) }
  }

  @Test(arguments: [
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer",
    "Upgrade", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "HTTP2-Settings",
    "Expect", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match",
    "Accept-Encoding", "Cookie", "cookie",
  ])
  func `fields that users may not set are refused with a reason`(name: String) {
    let error = #expect(throws: InvalidFetchOption.self) {
      try HeaderField(name: name, value: "a secret")
    }
    #expect(error?.description.hasPrefix("the header \(name.lowercased()) cannot be set: ") == true)
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `fields are sorted by name and keep their order within a name`() throws {
    let fields = try [("b", "1"), ("a", "2"), ("B", "0")].map(HeaderField.init)
    let sorted = try HeaderFields(fields)
    #expect(sorted.map(\.name) == ["a", "b", "b"])
    #expect(sorted.map(\.value) == ["2", "1", "0"])
    #expect(try HeaderFields([fields[1], fields[0], fields[2]]) == sorted)
    #expect(try HeaderFields([fields[2], fields[1], fields[0]]) != sorted)
  }

  @Test func `the number and the size of headers are limited`() throws {
    let fields = try (0...HeaderFields.maximumCount).map {
      try HeaderField(name: "a\($0)", value: "")
    }
    #expect(try HeaderFields(fields.dropLast()).count == HeaderFields.maximumCount)
    #expect(throws: InvalidFetchOption.self) { try HeaderFields(fields) }
    let room = HeaderFields.maximumByteCount - "a: \r\n".utf8.count
    let largest = try HeaderField(name: "a", value: String(repeating: "x", count: room))
    #expect(try HeaderFields([largest]).count == 1)
    let larger = try HeaderField(name: "a", value: largest.value + "x")
    #expect(throws: InvalidFetchOption.self) { try HeaderFields([larger]) }
  }

  @Test(arguments: [
    #"[{"name":"cookie","value":"a"}]"#, #"[{"name":"x-a","value":"a\r\nb"}]"#,
    #"[{"name":"x a","value":"a"}]"#, #"[{"name":"x-a"}]"#,
  ])
  func `decoding validates fields`(json: String) {
    #expect(throws: FieldError.self) {
      try Fields.value(HeaderFields.self, of: Array(json.utf8)[...])
    }
  }

  @Test func `a program reads an output for people, whose fields have no values`() throws {
    let json = Data(#"[{"name":"x-a"}]"#.utf8)
    let fields = try JSONDecoder().decode(HeaderFields.self, from: json)
    #expect(try JSONEncoder().encode(fields) == json)
  }

  @Test func `values are encoded, but not for people`() throws {
    let options = FetchOptions(
      headers: try HeaderFields([HeaderField(name: "Authorization", value: "secret")]))
    let encoder = JSONEncoder()
    let sent = try encoder.encode(options)
    #expect(try JSONDecoder().decode(FetchOptions.self, from: sent) == options)
    encoder.userInfo[.isForPeople] = true
    let shown = String(decoding: try encoder.encode(options), as: UTF8.self)
    #expect(shown.contains("authorization"))
    #expect(!shown.contains("secret"))
  }
}

@Suite struct GlobTests {
  @Test(arguments: [
    ("", ""), ("a", "a"), ("*", ""), ("*", "abc"), ("a*", "a"), ("a*c", "abc"), ("a*c", "acbc"),
    ("*b*", "abc"), ("**", "a"), ("a*b*c", "aXbYc"), ("*ab", "aab"),
  ])
  func `a pattern matches`(pattern: String, text: String) {
    #expect(Glob(pattern).matches(Array(text.utf8)))
  }

  @Test(arguments: [
    ("", "a"), ("a", ""), ("a", "b"), ("a", "ab"), ("a*", "ba"), ("a*c", "ab"), ("*ab", "aba"),
    ("A", "a"),
  ])
  func `a pattern does not match`(pattern: String, text: String) {
    #expect(!Glob(pattern).matches(Array(text.utf8)))
  }

  @Test func `a match stops when the budget of steps is exhausted`() {
    let glob = Glob("*a*a*a*b")
    let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000)
    var steps = 500
    #expect(glob.matches(bytes, within: &steps) == nil)
    #expect(steps == 0)
    steps = 1_000_000
    #expect(glob.matches(bytes, within: &steps) == false)
    #expect((1..<1_000_000).contains(steps))
  }
}

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
