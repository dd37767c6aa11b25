import ImgFacts
import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Headers that a client sets, as origins see them.
@Suite(.timeLimit(.minutes(20))) struct OwnHeaderTests {
  private static let standardAgent = "imgctl-test/1"
  private let origin = TestOrigin()
  private let other: TestOrigin

  init() throws {
    other = TestOrigin()
    for served in [origin, other] { served.serve("/end", .body([7])) }
  }

  private func options(_ fields: [(String, String)]) throws -> FetchOptions {
    FetchOptions(headers: try HeaderFields(try fields.map(HeaderField.init)))
  }

  @Test func `own headers are sent beside the others, or in their place`() throws {
    let options = try options([
      ("Authorization", "Bearer word"), ("Accept", "image/png"), ("X-Empty", ""), ("X-B", "a, b"),
    ])
    #expect(try Fetcher().fetch(origin.baseURL + "/end", as: options).body?.bytes == [7])
    let seen = origin.counters("/end").headersSeen
    #expect(seen["authorization"] == "Bearer word")
    #expect(seen["accept"] == "image/png")
    #expect(seen["x-empty"] == "")
    #expect(seen["x-b"] == "a, b")
    #expect(seen["user-agent"] == Self.standardAgent)
    #expect(seen["host"] == "127.0.0.1:\(origin.port)")
  }

  @Test func `an automatic Referer is the origin of each URL that is requested`() throws {
    origin.serve("/a", .redirect(to: "http://localhost:\(other.port)/end"))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a", as: FetchOptions(referer: .ownOrigin))
    #expect(transfer.body?.bytes == [7])
    #expect(origin.counters("/a").headersSeen["referer"] == "\(origin.baseURL)/")
    #expect(other.counters("/end").headersSeen["referer"] == "http://localhost:\(other.port)/")
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `own headers do not go to another host or port, nor back from there`(host: String) throws {
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .redirect(to: "http://\(host):\(other.port)/c"))
    other.serve("/c", .redirect(to: "/d"))
    other.serve("/d", .redirect(to: "\(origin.baseURL)/end"))
    let options = try options([
      ("X-Key", "word"), ("Authorization", "word"), ("User-Agent", "word"), ("Accept", "word"),
    ])
    let transfer = try Fetcher { $0.maxRedirects = 4 }.fetch(origin.baseURL + "/a", as: options)
    #expect(transfer.body?.bytes == [7])
    #expect(transfer.wasRedirected)
    for path in ["/a", "/b"] {
      #expect(origin.counters(path).headersSeen.values.count { $0 == "word" } == 4)
    }
    for seen in [other.counters("/c"), other.counters("/d"), origin.counters("/end")] {
      #expect(seen.requests == 1)
      #expect(!seen.headersSeen.values.contains("word"))
      #expect(seen.headersSeen["user-agent"] == Self.standardAgent)
      #expect(seen.headersSeen["accept"]?.contains("image/*") == true)
    }
  }

  @Test func `own headers do not go to another origin by a connection that is open`() throws {
    origin.serve("/a", .redirect(to: other.baseURL + "/end"))
    let fetcher = try Fetcher()
    for path in ["/end", "/end"] { _ = try fetcher.fetch(other.baseURL + path) }
    let transfer = try fetcher.fetch(origin.baseURL + "/a", as: options([("x-key", "word")]))
    #expect(transfer.body?.bytes == [7])
    #expect(other.counters("/end").headersSeen["x-key"] == nil)
  }

  @Test func `leaving the origin is one redirect as any, of all that are allowed`() throws {
    origin.serve("/a", .redirect(to: other.baseURL + "/c"))
    other.serve("/c", .redirect(to: "/d"))
    other.serve("/d", .redirect(to: "/end"))
    let options = try options([("x-key", "word")])
    let enough = try Fetcher { $0.maxRedirects = 3 }.fetch(origin.baseURL + "/a", as: options)
    #expect(enough.body?.bytes == [7])
    let tooFew = try Fetcher { $0.maxRedirects = 2 }.fetch(origin.baseURL + "/a", as: options)
    #expect(tooFew.failure?.code == .tooManyRedirects)
    #expect(other.counters("/end").requests == 1)
  }

  @Test func `headers of one transfer are not those of the next on its connection`() throws {
    let fetcher = try Fetcher()
    _ = try fetcher.fetch(origin.baseURL + "/end", as: options([("x-key", "word")]))
    #expect(origin.counters("/end").headersSeen["x-key"] == "word")
    _ = try fetcher.fetch(origin.baseURL + "/end")
    #expect(origin.counters("/end").headersSeen["x-key"] == nil)
  }
}

/// The cookies of one transfer and its redirects, by what origins saw.
@Suite(.timeLimit(.minutes(20))) struct CookieTests {
  private let origin = TestOrigin()

  private func setting(_ cookie: String, redirectTo location: String) -> Behaviour {
    .response(
      Response(status: 302, headers: [Header("Location", location), Header("Set-Cookie", cookie)]))
  }

  private func cookies(_ lines: String...) throws -> FetchOptions {
    FetchOptions(cookies: try Cookies(try lines.map(Cookie.init(line:))))
  }

  private func seen(_ path: String) -> String? { origin.counters(path).headersSeen["cookie"] }

  // MARK: - Cookies of origins

  @Test func `a redirect to itself that sets a cookie leads to the picture`() throws {
    origin.serve("/a", .sequence([setting("a=b", redirectTo: "/a"), .body([7])]))
    #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == [7])
    #expect(seen("/a") == "a=b")
  }

  @Test func `the cookies of one transfer are not those of another`() throws {
    let fetcher = try Fetcher()
    for path in ["/a", "/b"] {
      origin.serve(path, setting("\(path.dropFirst())=1; Path=/", redirectTo: "\(path)/2"))
      origin.serve("\(path)/2", .body([7], headers: [Header("Set-Cookie", "c=2; Path=/")]))
    }
    origin.serve("/c", .body([7]))
    // Both at once, then each on the handles and connections of those before.
    _ = try fetcher.fetch(["/a", "/b"].map { origin.baseURL + $0 })
    #expect(seen("/a/2") == "a=1" && seen("/b/2") == "b=1")
    for path in ["/a", "/b", "/c"] { _ = try fetcher.fetch(origin.baseURL + path) }
    #expect(seen("/a") == nil && seen("/b") == nil && seen("/c") == nil)
    #expect(seen("/a/2") == "a=1" && seen("/b/2") == "b=1")
  }

  @Test func `another site gets no cookie, and the first one has its own again`() throws {
    let other = "http://localhost:\(origin.port)"
    origin.serve("/a", setting("a=b; Path=/", redirectTo: other + "/b"))
    origin.serve("/b", setting("c=d; Path=/", redirectTo: origin.baseURL + "/c"))
    origin.serve("/c", .body([7]))
    #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == [7])
    #expect(seen("/b") == nil && seen("/c") == "a=b")
  }

  @Test(arguments: [("co.uk", false), ("example.co.uk", true), ("b.example.co.uk", false)])
  func `a cookie is for a domain, and for no public suffix`(domain: String, isSent: Bool) throws {
    for name in ["a", "b"] { FakeResolver.serve("\(name).example.co.uk", ["127.0.0.1"]) }
    let next = "http://b.example.co.uk:\(origin.port)/b"
    origin.serve("/a", setting("a=b; Domain=\(domain); Path=/", redirectTo: next))
    origin.serve("/b", .body([7]))
    let url = "http://a.example.co.uk:\(origin.port)/a"
    #expect(try Fetcher().fetch(url).body?.bytes == [7])
    #expect(seen("/b") == (isSent ? "a=b" : nil))
  }

  @Test func `a robots.txt behind a redirect to itself is read`() throws {
    origin.serve("/robots.txt", .sequence([setting("a=b", redirectTo: "/robots.txt"), .body([7])]))
    #expect(try Fetcher().fetchRobots(of: origin.baseURL + "/a").body?.bytes == [7])
  }

  // MARK: - Cookies of the request

  @Test func `cookies of the request go to their domain and path, also in redirects`() throws {
    let options = try cookies(
      "127.0.0.1\tFALSE\t/a\tFALSE\t0\tours\t1", "127.0.0.1\tFALSE\t/\tTRUE\t0\ttls\t2",
      "127.0.0.1\tFALSE\t/\tFALSE\t9\told\t3", "localhost\tFALSE\t/\tFALSE\t0\ttheirs\t4")
    let other = "http://localhost:\(origin.port)"
    origin.serve("/a", setting("new=5; Path=/", redirectTo: "/a/2"))
    origin.serve("/a/2", .redirect(to: "/b"))
    origin.serve("/b", .redirect(to: other + "/c"))
    origin.serve("/c", .body([7]))
    let url = try ImageURL(parsing: origin.baseURL + "/a")
    let fetcher = try Fetcher()
    #expect(try fetcher.fetch(url.text, as: options.narrowed(to: url)).body?.bytes == [7])
    // libcurl takes the loopback address for a secure place, and sends the longest path first.
    #expect(seen("/a") == "ours=1; tls=2")
    #expect(seen("/a/2") == "ours=1; new=5; tls=2")
    #expect(seen("/b") == "new=5; tls=2")
    // The name of the picture does not tell of these.
    #expect(seen("/c") == nil)
    _ = try fetcher.fetch(origin.baseURL + "/c")
    #expect(seen("/c") == nil)
  }

  @Test func `a cookie for TLS is not sent without`() throws {
    FakeResolver.serve("plain.test", ["127.0.0.1"])
    origin.serve("/a", .body([7]))
    let options = try cookies("plain.test\tFALSE\t/\tTRUE\t0\ta\tb")
    _ = try Fetcher().fetch("http://plain.test:\(origin.port)/a", as: options)
    #expect(origin.counters("/a").requests == 1 && seen("/a") == nil)
  }

  @Test func `the ranges of a file have the cookies of its redirect`() throws {
    let head: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE5, 0xEA, 0x60] + noise(59_998)
    let frame: [UInt8] = [
      0xFF, 0xC0, 0, 11, 8, 0, 48, 0, 64, 1, 1, 0x11, 0, 0xFF, 0xDA, 0, 8, 1, 1,
    ]
    let file = Resource(head + frame + noise(1_000), entityTag: "\"v\"")
    origin.serve("/a", setting("a=b; Path=/", redirectTo: "/b"))
    origin.serve("/b", .resource(file))
    _ = try Fetcher().fetchFacts(origin.baseURL + "/a", .metadata)
    #expect(origin.counters("/b").requests > 1 && seen("/b") == "a=b")
  }
}

/// What is not told to an origin, by what the origin saw.
@Suite(.timeLimit(.minutes(20))) struct SecrecyTests {
  /// RFC 7617 section 2, of `user:word`.
  private static let credentials = "Basic dXNlcjp3b3Jk"

  /// Neither way changes what a redirect sends.
  private static let ways = [FetchOptions.standard, FetchOptions(respectsRobots: true)]

  @Test(arguments: ways, [false, true])
  func `credentials in a URL go to its own host, also after a redirect there`(
    options: FetchOptions, isAbsolute: Bool
  ) throws {
    let origin = TestOrigin()
    origin.serve("/a", .redirect(to: isAbsolute ? "\(origin.baseURL)/b" : "/b"))
    origin.serve("/b", .body([7]))
    let url = "http://user:word@127.0.0.1:\(origin.port)/a"
    #expect(try Fetcher().fetch(url, as: options).body?.bytes == [7])
    #expect(origin.counters("/a").headersSeen["authorization"] == Self.credentials)
    #expect(origin.counters("/b").headersSeen["authorization"] == Self.credentials)
  }

  @Test(arguments: ways, ["127.0.0.1", "localhost"])
  func `a URL's credentials stay with host and port`(options: FetchOptions, host: String) throws {
    let origins = (0..<2).map { _ in TestOrigin() }
    origins[0].serve("/a", .redirect(to: "http://\(host):\(origins[1].port)/b"))
    origins[1].serve("/b", .body([7]))
    let url = "http://user:word@127.0.0.1:\(origins[0].port)/a"
    #expect(try Fetcher().fetch(url, as: options).body?.bytes == [7])
    #expect(origins[0].counters("/a").headersSeen["authorization"] == Self.credentials)
    let seen = origins[1].counters("/b").headersSeen
    #expect(seen["authorization"] == nil)
    #expect(!seen.values.contains { $0.contains("word") })
  }

  @Test func `credentials of one transfer are not those of the next on its connection`() throws {
    let origin = TestOrigin { _, _ in .body([7]) }
    let fetcher = try Fetcher()
    _ = try fetcher.fetch("http://user:word@127.0.0.1:\(origin.port)/a")
    _ = try fetcher.fetch(origin.baseURL + "/b")
    #expect(origin.counters("/b").headersSeen["authorization"] == nil)
  }

  @Test func `an origin sees nothing but what a fetch needs`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .body([7]))
    #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == [7])
    for path in ["/a", "/b"] {
      let names = Set(origin.counters(path).headersSeen.keys)
      #expect(names == ["host", "user-agent", "accept", "accept-encoding"])
    }
  }
}
