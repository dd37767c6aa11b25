import ImgFetch
import ImgWire
import TestOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct RedirectTests {
  @Test func `as many redirects as the limit are followed`() throws {
    let origin = try chain(redirectCount: 3)
    let transfer = try Fetcher { $0.maxRedirects = 3 }.fetch(origin.baseURL + "/0")
    #expect(transfer.body?.bytes == [9])
    #expect(transfer.body?.effectiveURL == origin.baseURL + "/3")
  }

  @Test func `one redirect more is a failure`() throws {
    let origin = try chain(redirectCount: 4)
    let transfer = try Fetcher { $0.maxRedirects = 3 }.fetch(origin.baseURL + "/0")
    #expect(transfer.failure?.code == .tooManyRedirects)
    #expect(origin.counters("/4").requests == 0)
  }

  @Test func `a redirect is refused when the limit is none`() throws {
    let origin = try chain(redirectCount: 1)
    let transfer = try Fetcher { $0.maxRedirects = 0 }.fetch(origin.baseURL + "/0")
    #expect(transfer.failure?.code == .tooManyRedirects)
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"])
  func `a redirect to another scheme is not followed`(location: String) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .redirect(to: location))
    let failure = try #require(Fetcher().fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .unsupportedScheme)
    #expect(!failure.isRetryable)
  }

  @Test(arguments: ["127.0.0.2", "[::1]", "169.254.169.254", "0x7f.0.0.2"])
  func `a redirect to a refused address is not followed`(host: String) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .redirect(to: "http://\(host):\(origin.port)/b"))
    let fetcher = try Fetcher(allowing: ["127.0.0.1/32"])
    let failure = try #require(fetcher.fetch(origin.baseURL + "/a").failure)
    #expect(failure.code == .blockedAddress)
    #expect(!failure.isRetryable)
    #expect(origin.counters("/b").requests == 0)
  }

  @Test(arguments: ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
  func `a refused address is not connected to however it is spelled`(host: String) throws {
    let origin = try TestOrigin()
    let fetcher = try Fetcher(allowing: [])
    let failure = try #require(fetcher.fetch("http://\(host):\(origin.port)/").failure)
    #expect(failure.code == .blockedAddress)
    #expect(failure.detail.contains("loopback"))
    #expect(origin.totals().connectionsOpened == 0)
  }

  @Test func `a failure after a redirect is told as the second host's alone`() throws {
    let origin = try TestOrigin()
    let listener = try RawListener()
    origin.serve("/a", .redirect(to: listener.baseURL + "/"))
    let failure = try #require(
      Fetcher().fetch(origin.baseURL + "/a") { listener.answer(with: "") }.failure)
    #expect(failure.code == .connectFailure)
    #expect(failure.httpStatus == nil)
  }

  /// `/0` leads to `/1` and so on to a body after `redirectCount` redirects.
  private func chain(redirectCount: Int) throws -> TestOrigin {
    let origin = try TestOrigin()
    for index in 0..<redirectCount { origin.serve("/\(index)", .redirect(to: "/\(index + 1)")) }
    origin.serve("/\(redirectCount)", .body([9]))
    return origin
  }
}
