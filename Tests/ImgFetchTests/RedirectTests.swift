import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Redirects, each followed after a decision.
@Suite(.timeLimit(.minutes(20))) struct RedirectTests {
  private static let ways = [FetchOptions.standard, FetchOptions(respectsRobots: true)]

  @Test(arguments: ways)
  func `as many redirects as the limit are followed`(options: FetchOptions) throws {
    let origin = try chain(redirectCount: 3)
    let transfer = try Fetcher { $0.maxRedirects = 3 }.fetch(origin.baseURL + "/0", as: options)
    #expect(transfer.body?.bytes == [9])
  }

  @Test(arguments: ways)
  func `one redirect more is a failure`(options: FetchOptions) throws {
    let origin = try chain(redirectCount: 4)
    let transfer = try Fetcher { $0.maxRedirects = 3 }.fetch(origin.baseURL + "/0", as: options)
    #expect(transfer.failure?.code == .tooManyRedirects)
    #expect(origin.counters("/4").requests == 0)
  }

  @Test(arguments: ways)
  func `a redirect is refused when the limit is none`(options: FetchOptions) throws {
    let origin = try chain(redirectCount: 1)
    let transfer = try Fetcher { $0.maxRedirects = 0 }.fetch(origin.baseURL + "/0", as: options)
    #expect(transfer.failure?.code == .tooManyRedirects)
  }

  @Test(
    arguments: [
      "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "data:image/png;base64,AAAA",
      "javascript:alert(1)",
    ], ways)
  func `a redirect to another scheme is refused`(location: String, options: FetchOptions) throws {
    let origin = TestOrigin()
    origin.serve("/a", .redirect(to: location))
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a", as: options).failure)
    #expect(failure.code == .unsupportedScheme)
    #expect(failure.detail == "a redirect leads to a URL that is neither http nor https")
    #expect(!failure.isRetryable)
  }

  @Test(arguments: ways)
  func `a failure after a redirect is the second host's alone`(options: FetchOptions) throws {
    let origin = TestOrigin()
    let listener = try RawListener()
    origin.serve("/a", .redirect(to: listener.baseURL + "/"))
    let failure = try #require(
      Fetcher().fetch(origin.baseURL + "/a", as: options) { listener.answer(with: "") }.failure)
    #expect(failure.code == .connectFailure)
    #expect(failure.httpStatus == nil)
  }

  @Test(
    arguments: [
      "end", "/x/end", "./../x/end", "//127.0.0.1:PORT/x/end", "?a b=\u{FC}",
      "http://127.0.0.1:PORT/x/a?a b",
    ],
    ways)
  func `a redirect leads where its reference does from the URL before`(
    reference: String, options: FetchOptions
  ) throws {
    let origin = TestOrigin()
    let location = reference.replacing("PORT", with: "\(origin.port)")
    origin.serve("/x/a", .sequence([.redirect(to: location), .body([9])]))
    origin.serve("/x/end", .body([9]))
    let transfer = try Fetcher().fetch(origin.baseURL + "/x/a", as: options)
    #expect(transfer.body?.bytes == [9])
    #expect(transfer.wasRedirected)
  }

  @Test(arguments: [300, 304, 305, 306, 399], ways)
  func `a Location without a redirect leads nowhere`(status: Int, options: FetchOptions) throws {
    let listener = try RawListener()
    let origin = TestOrigin { _, _ in .body([9]) }
    let transfer = try Fetcher().fetch(listener.baseURL + "/a", as: options) {
      listener.answer(
        with: "HTTP/1.1 \(status) X\r\nLocation: \(origin.baseURL)/b\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(transfer.failure?.code == .httpStatus)
    #expect(transfer.failure?.httpStatus == status)
    #expect(origin.totals().requests == 0)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a Location is followed if the status redirects`(status: Int) throws {
    let origin = TestOrigin()
    origin.serve("/a", .redirect(to: "/b", status: status))
    origin.serve("/b", .body([9]))
    #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == [9])
  }

  @Test(arguments: ways)
  func `a Location that is not UTF-8 keeps its bytes`(options: FetchOptions) throws {
    let origin = TestOrigin()
    let listener = try RawListener()
    let location: [UInt8] = Array("\(origin.baseURL)/".utf8) + [0xE9]
    let transfer = try Fetcher().fetch(listener.baseURL + "/a", as: options) {
      listener.answer(
        with: Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ".utf8) + location
          + Array("\r\n\r\n".utf8))
    }
    #expect(transfer.failure?.httpStatus == 404)
    #expect(origin.startOrder().map { $0.lowercased() } == ["/%e9"])
  }

  @Test(arguments: ways)
  func `a page that comes with a redirect waits for no memory`(options: FetchOptions) throws {
    let origin = TestOrigin()
    origin.serve("/held", .body([1], delivery: .hold))
    let page = Response(status: 302, headers: [Header("Location", "/b")], body: noise(100_000))
    origin.serve("/a", .response(page))
    origin.serve("/b", .body([9]))
    let fetcher = try Fetcher(bodyBudget: 80_000)
    // Those that are not the oldest have an eighth.
    _ = try fetcher.start(origin.baseURL + "/held")
    #expect(try fetcher.fetch(origin.baseURL + "/a", as: options).body?.bytes == [9])
  }

  // MARK: - Decisions

  @Test func `each redirect is reported before it is followed`() throws {
    let origin = try chain(redirectCount: 2)
    let fetcher = try Fetcher()
    fetcher.followsRedirects = false
    let id = try fetcher.start(origin.baseURL + "/0")
    for index in 1...2 {
      try fetcher.run { fetcher.redirects.last == "\(origin.baseURL)/\(index)" }
      #expect(origin.counters("/\(index)").requests == 0)
      fetcher.pool.follow(id)
    }
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.body?.bytes == [9])
    #expect(fetcher.redirects.count == 2)
  }

  @Test func `a redirect to an invalid URL is a failure of the transfer`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .redirect(to: "/" + String(repeating: "b", count: 8_192)))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a")
    let failure = try #require(transfer.failure)
    #expect(failure.stage == .fetch)
    #expect(failure.code == .invalidURL)
  }

  @Test func `no transfer waits for memory behind a redirect that waits for a decision`() throws {
    let origin = try chain(redirectCount: 1)
    origin.serve("/large", .body(noise(60_000)))
    let fetcher = try Fetcher(bodyBudget: 80_000)
    fetcher.followsRedirects = false
    let id = try fetcher.start(origin.baseURL + "/0")
    try fetcher.run { !fetcher.redirects.isEmpty }
    let large = try #require(fetcher.fetch(origin.baseURL + "/large").body)
    fetcher.pool.releaseBody(large.charge)
    fetcher.pool.follow(id)
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.body?.bytes == [9])
  }

  @Test func `a redirect that waits for a decision can be cancelled`() throws {
    let origin = try chain(redirectCount: 1)
    let fetcher = try Fetcher()
    fetcher.followsRedirects = false
    let id = try fetcher.start(origin.baseURL + "/0")
    try fetcher.run { !fetcher.redirects.isEmpty }
    #expect(fetcher.pool.activeCount == 0)
    fetcher.pool.cancel(id)
    fetcher.pool.follow(id)
    _ = try fetcher.fetch(origin.baseURL + "/1")
    #expect(fetcher.finished.isEmpty)
    #expect(origin.totals().requests == 2)
  }

  /// `/0` leads to `/1` and so on to a body after `redirectCount` redirects.
  private func chain(redirectCount: Int) throws -> TestOrigin {
    let origin = TestOrigin()
    for index in 0..<redirectCount { origin.serve("/\(index)", .redirect(to: "/\(index + 1)")) }
    origin.serve("/\(redirectCount)", .body([9]))
    return origin
  }
}
