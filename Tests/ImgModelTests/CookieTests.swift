import FoundationEssentials
import ImgModel
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
