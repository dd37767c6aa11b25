import ImgModel
import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct PendingRedirectsTests {
  private let request: TransferRequest

  init() throws {
    request = TransferRequest(for: try ImageURL(parsing: "http://a.example/a"))
  }

  private func target() throws -> RedirectTarget {
    try RedirectTarget("/b", from: ParsedURL(text: "http://a.example/a"), status: 302)
  }

  @Test func `a redirect is reported once and released once`() throws {
    var redirects = PendingRedirects()
    redirects.hold(7, to: try target(), request, leavesHost: true)
    let reported = redirects.takeUnreported()
    #expect(reported.map(\.id) == [7])
    #expect(reported.map(\.url.text) == ["http://a.example/b"])
    #expect(reported.map(\.leavesHost) == [true])
    #expect(redirects.takeUnreported().isEmpty)
    #expect(redirects.contains(7))
    #expect(redirects.release(7)?.request.host == "a.example")
    #expect(!redirects.contains(7))
    #expect(redirects.release(7) == nil)
  }

  @Test func `a redirect that is cancelled is neither reported nor released`() throws {
    var redirects = PendingRedirects()
    redirects.hold(7, to: try target(), request, leavesHost: false)
    redirects.cancel(7)
    #expect(redirects.takeUnreported().isEmpty)
    #expect(redirects.release(7) == nil)
  }

  @Test func `each redirect within a host is reported once`() {
    var redirects = PendingRedirects()
    redirects.recordExtraRequest(to: "a")
    redirects.recordExtraRequest(to: "a")
    #expect(redirects.takeExtraRequests() == ["a", "a"])
    #expect(redirects.takeExtraRequests().isEmpty)
  }
}
