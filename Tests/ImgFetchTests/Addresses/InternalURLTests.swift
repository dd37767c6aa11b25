import ImgFetch
import ImgModel
import TestOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct InternalURLTests {
  init() {
    for name in InternalURL.namesWithFinalDot { FakeResolver.serve(name, ["127.0.0.1"]) }
  }

  @Test func `the table holds what it is to hold`() {
    #expect(Set(InternalURL.all.map(\.text)).count == InternalURL.all.count)
    #expect(InternalURL.all.count >= 200)
  }

  @Test(arguments: InternalURL.all)
  func `an internal address is not connected to however it is spelled`(url: InternalURL) throws {
    let origin = try TestOrigin()
    #expect(try code(of: url.text(port: origin.port)) == url.inList)
    #expect(origin.totals().connectionsOpened == 0)
  }

  @Test(arguments: InternalURL.linesWithoutScheme)
  func `an internal address is not connected to where a line leaves the scheme out`(
    url: InternalURL
  ) throws {
    let origin = try TestOrigin()
    #expect(try code(of: url.text(port: origin.port)) == url.inList)
    #expect(origin.totals().connectionsOpened == 0)
  }

  @Test(arguments: InternalURL.all)
  func `a redirect to an internal address is not followed however it is spelled`(
    url: InternalURL
  ) throws {
    let origin = try TestOrigin()
    // Another address than that of the origin, so that this one may be connected to.
    let listener = try RawListener(host: 0x6301)
    let location = "Location: \(url.text(port: origin.port))\r\n"
    let transfer = try Fetcher(allowing: ["127.0.99.1/32"]).fetch(listener.baseURL + "/a") {
      listener.answer(with: "HTTP/1.1 302 Found\r\n\(location)Content-Length: 0\r\n\r\n")
    }
    let failure = try #require(transfer.failure)
    #expect(failure.code == url.inRedirect, "\(failure.detail)")
    #expect(!failure.isRetryable)
    #expect(origin.totals().connectionsOpened == 0)
  }

  /// What a line of a list fails with, wherever that is found out.
  private func code(of line: String) throws -> Failure.Code? {
    do {
      return try Fetcher(allowing: []).fetch(line).failure?.code
    } catch let failure as Failure {
      return failure.code
    }
  }
}
