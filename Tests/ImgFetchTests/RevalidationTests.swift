import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Conditional requests, and what the origin says about reuse, over a real connection.
@Suite(.timeLimit(.minutes(20))) struct RevalidationTests {
  private let origin = TestOrigin()
  private let fetcher: Fetcher
  private let url: String

  init() throws {
    fetcher = try Fetcher()
    url = origin.baseURL + "/a"
  }

  private static let date = "Sun, 06 Nov 1983 08:49:37 GMT"

  private func terms(_ fields: String) -> ReuseTerms {
    ReuseTerms(
      freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: .distantPast, fields: fields)
  }

  private func fetch(
    _ url: String, unlessMatching fields: String, turn: () -> Void = {}
  ) throws -> FinishedTransfer {
    try fetcher.fetch(url, unlessMatching: Validators(terms(fields)), turn: turn)
  }

  @Test(arguments: [
    ("etag: \"1\"", "\"1\"", "if-none-match", "\"1\""),
    ("last-modified: \(date)", nil, "if-modified-since", date),
  ])
  func `an unchanged picture is not sent again`(
    fields: String, entityTag: String?, name: String, value: String
  ) throws {
    origin.serve(
      "/a",
      .resource(
        Resource(
          noise(1_000), entityTag: entityTag, lastModified: Self.date,
          headers: [Header("Cache-Control", "max-age=600")])))
    let transfer = try fetch(url, unlessMatching: fields)
    let notModified = try #require(transfer.notModified)
    #expect(notModified.matchesCondition)
    #expect(notModified.terms(of: terms(fields)).isFresh(at: .now))
    #expect(transfer.bytesReceived == 0)
    #expect(transfer.failure?.httpStatus == 304)
    #expect(origin.counters("/a").headersSeen[name] == value)
    #expect(origin.counters("/a").headersSeen["accept"]?.hasPrefix("image/") == true)
  }

  @Test func `a changed picture is sent, with its own terms`() throws {
    let headers = [Header("Cache-Control", "max-age=600")]
    origin.serve("/a", .resource(Resource([1], entityTag: "\"2\"", headers: headers)))
    let transfer = try fetch(url, unlessMatching: "etag: \"1\"")
    #expect(transfer.notModified == nil)
    let reuse = try #require(transfer.body?.reuse)
    #expect(reuse.isStorable)
    #expect(reuse.terms.isFresh(at: .now))
    #expect(Validators(reuse.terms)?.condition == "If-None-Match: \"2\"")
  }

  @Test func `a handle that sent a condition sends none the next time`() throws {
    origin.serve("/a", .resource(Resource([1], entityTag: "\"1\"")))
    _ = try fetch(url, unlessMatching: "etag: \"1\"")
    #expect(try fetcher.fetch(url).body?.bytes == [1])
    #expect(origin.counters("/a").headersSeen["if-none-match"] == nil)
  }

  @Test func `a 304 to a request without a condition is a failure`() throws {
    origin.serve("/a", .status(304))
    let transfer = try fetcher.fetch(url)
    #expect(transfer.notModified == nil)
    #expect(transfer.failure?.code == .httpStatus)
    #expect(transfer.failure?.isRetryable == false)
  }

  @Test func `a body that comes with a 304, against the rules, does not count`() throws {
    let listener = try RawListener()
    let answer =
      "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\nhello"
    let transfer = try fetch(listener.baseURL + "/a", unlessMatching: "etag: \"1\"") {
      listener.answer(with: answer)
    }
    #expect(transfer.notModified?.matchesCondition == true)
    #expect(transfer.bytesReceived == 0)
  }

  @Test func `behind a redirect the last response counts, and is not fresh`() throws {
    origin.serve("/b", .redirect(to: url))
    let headers = [Header("Cache-Control", "max-age=600")]
    origin.serve("/a", .resource(Resource([1], entityTag: "\"1\"", headers: headers)))
    let terms = try #require(try fetcher.fetch(origin.baseURL + "/b").body?.reuse.terms)
    #expect(!terms.isFresh(at: .now))
    let again = try fetch(origin.baseURL + "/b", unlessMatching: terms.fields)
    let renewed = try #require(again.notModified?.terms(of: terms))
    #expect(!renewed.isFresh(at: .now))
    #expect(origin.counters("/a").requests == 2)
    #expect(origin.counters("/b").headersSeen["if-none-match"] == nil)
    // The issuer is known after a 304, too.
    #expect(try fetch(origin.baseURL + "/b", unlessMatching: renewed.fields).notModified != nil)
  }

  // MARK: - A 304 about another validator

  private static let otherValidator = Behaviour.status(304, headers: [Header("ETag", "\"9\"")])

  @Test func `a 304 about another validator repeats the request without a condition`() throws {
    origin.serve("/a", .sequence([Self.otherValidator, picture(2)]))
    let transfer = try fetch(url, unlessMatching: "etag: \"1\"")
    #expect(transfer.notModified == nil)
    #expect(transfer.body?.bytes == [2])
    #expect(origin.counters("/a").requests == 2)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == nil)
  }

  @Test func `a second 304 is a failure`() throws {
    origin.serve("/a", Self.otherValidator)
    let transfer = try fetch(url, unlessMatching: "etag: \"1\"")
    #expect(transfer.notModified == nil)
    #expect(transfer.failure?.httpStatus == 304)
    #expect(origin.counters("/a").requests == 2)
  }

  @Test func `behind a redirect only the host that sent the 304 is asked again`() throws {
    let other = TestOrigin()
    origin.serve("/a", .redirect(to: other.baseURL + "/b"))
    other.serve("/b", .sequence([picture(1), Self.otherValidator, picture(2)]))
    let terms = try #require(try fetcher.fetch(url).body?.reuse.terms)
    let again = try fetch(url, unlessMatching: terms.fields)
    #expect(again.notModified == nil)
    #expect(again.body?.bytes == [2])
    #expect(origin.counters("/a").requests == 2)
    #expect(other.counters("/b").requests == 3)
    #expect(other.counters("/b").headersSeen["if-none-match"] == nil)
  }

  // MARK: - Which URLs get a validator

  private static let cases: [(fields: String, condition: String)] = [
    ("etag: \"1\"", "if-none-match"), ("last-modified: \(date)", "if-modified-since"),
  ]

  private func picture(_ byte: UInt8) -> Behaviour {
    .resource(Resource([byte], entityTag: "\"1\"", lastModified: Self.date))
  }

  @Test(arguments: cases, [true, false])
  func `a validator does not go where its URL leads`(
    validator: (fields: String, condition: String), isSameOrigin: Bool
  ) throws {
    let other = TestOrigin()
    for server in [origin, other] { server.serve("/b", picture(2)) }
    let base = isSameOrigin ? origin.baseURL : other.baseURL
    origin.serve("/a", .redirect(to: base + "/b"))
    let transfer = try fetch(url, unlessMatching: validator.fields)
    #expect(transfer.notModified == nil)
    #expect(transfer.body?.bytes == [2])
    #expect(origin.counters("/a").headersSeen[validator.condition] != nil)
    for server in [origin, other] {
      #expect(server.counters("/b").headersSeen[validator.condition] == nil)
    }
  }

  @Test func `a validator of a redirect's target does not go to another target`() throws {
    origin.serve("/a", .sequence([.redirect(to: "/b"), .redirect(to: "/c")]))
    origin.serve("/b", picture(2))
    origin.serve("/c", picture(3))
    let terms = try #require(try fetcher.fetch(url).body?.reuse.terms)
    let again = try fetch(url, unlessMatching: terms.fields)
    #expect(again.notModified == nil)
    #expect(again.body?.bytes == [3])
    #expect(origin.counters("/c").headersSeen["if-none-match"] == nil)
  }

  @Test func `a validator of a redirect's target does not go to the URL itself`() throws {
    origin.serve("/a", .sequence([.redirect(to: "/b"), picture(1)]))
    origin.serve("/b", picture(2))
    let terms = try #require(try fetcher.fetch(url).body?.reuse.terms)
    #expect(try fetch(url, unlessMatching: terms.fields).body?.bytes == [1])
  }

  @Test func `a redirect's target with a query is not kept, so it is fetched whole`() throws {
    origin.serve("/a", .redirect(to: "/b?signature=secret"))
    origin.serve("/b", picture(2))
    let terms = try #require(try fetcher.fetch(url).body?.reuse.terms)
    #expect(Validators(terms) == nil)
    #expect(!terms.fields.contains("secret"))
    #expect(try fetch(url, unlessMatching: terms.fields).body?.bytes == [2])
  }

  @Test func `a Location that comes with a 304 leads nowhere`() throws {
    let headers = [Header("ETag", "\"1\""), Header("Location", "/b")]
    origin.serve("/a", .status(304, headers: headers))
    origin.serve("/b", picture(2))
    #expect(try fetch(url, unlessMatching: "etag: \"1\"").notModified != nil)
    #expect(origin.counters("/b").requests == 0)
  }
}

/// The requests that follow one another for the same picture.
@Suite(.timeLimit(.minutes(20))) struct TransferRequestTests {
  private let url: TransferURL
  private let secret: HeaderFields

  init() throws {
    url = try TransferURL(ImageURL(parsing: "http://a.example/a"))
    secret = try HeaderFields([HeaderField(name: "X-Key", value: "secret")])
  }

  private func redirected(_ location: String) throws -> TransferRequest {
    let request = try TransferRequest(for: url.image, options: FetchOptions(headers: secret))
      .onFreshConnection(after: TransferHistory())
    let target = try TransferURL(redirectedTo: location, from: url, status: 302)
    return request.redirected(to: target, after: TransferHistory(headByteCount: 9))
  }

  @Test func `a redirect within an origin keeps the client's header fields`() throws {
    let request = try redirected("/b")
    #expect(request.options.headers == secret)
    #expect(request.host == "a.example")
    #expect(!request.usesFreshConnection)
    #expect(request.history.redirectCount == 1)
    #expect(request.history.headByteCount == 9)
  }

  @Test(arguments: ["http://b.example/a", "https://a.example/a", "http://a.example:81/a"])
  func `RFC 9110 15.4: the client's fields do not go to another origin`(location: String) throws {
    #expect(try redirected(location).options.headers == .none)
  }

  @Test func `fields of a host go to the origin of its URL alone, and back there`() throws {
    let fields = try ["a.example", "b.example"].map {
      try HeaderField(name: "authorization", value: "secret", onlyTo: $0)
    }
    let options = FetchOptions(headers: try HeaderFields(fields))
    var request = try TransferRequest(for: url.image, options: options)
    #expect(try request.headers(with: .whole()) != nil)
    for (location, isSent) in [
      ("/b", true), ("http://b.example/", false), ("http://a.example:80/", true),
      ("http://a.example:81/", false), ("https://a.example/", false), ("http://a.example/c", true),
    ] {
      let target = try TransferURL(redirectedTo: location, from: request.url, status: 302)
      request = request.redirected(to: target, after: request.history)
      #expect(try (request.headers(with: .whole()) != nil) == isSent, "\(location)")
    }
  }

  @Test(arguments: ["ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)"])
  func `a redirect leads to http and https alone`(location: String) {
    #expect(throws: Failure.self) {
      try TransferURL(redirectedTo: location, from: url, status: 302)
    }
  }

  @Test func `a restart counts what the partial body took, and resumes nothing`() throws {
    var request = try TransferRequest(for: url.image)
    request.history.bodyByteCount = 10
    var history = request.history
    history.bodyByteCount += 5
    let restarted = request.restarted(after: history, resumedByteCount: 100)
    #expect(restarted.history.bodyByteCount == 115)
    #expect(restarted.history.resumedByteCount == 100)
    guard case .restart = restarted.start else {
      Issue.record("the request starts from something")
      return
    }
  }

  @Test func `validators are sent only to the URL that issued them`() throws {
    let terms = ReuseTerms(
      freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: .distantPast, fields: "etag: \"a\"")
    let validators = try #require(Validators(terms))
    let start = TransferStart.whole(unlessMatching: validators)
    #expect(start.sent(to: .requestURL).requestFields == ["If-None-Match: \"a\""])
    #expect(start.sent(to: .redirectTarget("http://a:80/")).requestFields.isEmpty)
    #expect(start.sent(to: .unnamed).requestFields.isEmpty)
  }
}
