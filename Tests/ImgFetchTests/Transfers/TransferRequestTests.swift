import ImgModel
import Testing

@testable import ImgFetch

/// The requests that follow one another for the same picture.
@Suite(.timeLimit(.minutes(20))) struct TransferRequestTests {
  private let url: ParsedURL
  private let secret: HeaderFields

  init() throws {
    url = try ParsedURL(text: "http://a.example/a")
    secret = try HeaderFields([HeaderField(name: "X-Key", value: "secret")])
  }

  private func redirected(_ location: String) throws -> TransferRequest {
    let start = try ImageURL(parsing: "http://a.example/a")
    let request = TransferRequest(for: start, options: FetchOptions(headers: secret))
      .onFreshConnection(after: TransferHistory())
    let target = try RedirectTarget(location, from: url, status: 302)
    return request.redirected(to: target, from: url, after: TransferHistory(headByteCount: 9))
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
  func `RFC 9110 15.4: the client's header fields do not go to another origin`(location: String)
    throws
  {
    #expect(try redirected(location).options.headers == .none)
  }

  @Test func `fields of a host go to the origin of its URL alone, and back there`() throws {
    let fields = try ["a.example", "b.example"].map {
      try HeaderField(name: "authorization", value: "secret", onlyTo: $0)
    }
    let options = FetchOptions(headers: try HeaderFields(fields))
    var (from, request) = (
      url, TransferRequest(for: try ImageURL(parsing: "http://a.example/a"), options: options)
    )
    #expect(try request.headers(with: .whole()) != nil)
    for (location, isSent) in [
      ("/b", true), ("http://b.example/", false), ("http://a.example:80/", true),
      ("http://a.example:81/", false), ("https://a.example/", false), ("http://a.example/c", true),
    ] {
      let target = try RedirectTarget(location, from: from, status: 302)
      request = request.redirected(to: target, from: from, after: request.history)
      #expect(try (request.headers(with: .whole()) != nil) == isSent, "\(location)")
      from = target.parsedURL
    }
  }

  @Test(arguments: ["ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)"])
  func `a redirect leads to http and https alone`(location: String) {
    #expect(throws: Failure.self) { try RedirectTarget(location, from: url, status: 302) }
  }

  @Test func `a restart counts what the partial body took, and resumes nothing`() throws {
    var request = TransferRequest(for: try ImageURL(parsing: "http://a.example/a"))
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
