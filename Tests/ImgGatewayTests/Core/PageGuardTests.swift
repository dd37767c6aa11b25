import ImgHTTP
import Testing

@testable import ImgGateway

struct PageGuardTests {
  private func isRefused(_ fields: HTTPFields) -> Bool {
    do throws(RequestRejection) {
      let request = HTTPRequest(.post, "/api/jobs/1/retry", fields: fields)
      try PageGuard.check(request, to: .retry(1), servesOtherSites: true)
      return false
    } catch {
      return error.status == .forbidden
    }
  }

  @Test func `a change needs the field that pages of other sites cannot send`() {
    #expect(isRefused([:]))
    let marked = ("X-Requested-With", "imgctl")
    #expect(!isRefused(HTTPFields(dictionaryLiteral: marked)))
    for (site, isRefused) in [
      ("same-origin", false), ("none", false), ("cross-site", true), ("same-site", true),
    ] {
      let fields = HTTPFields(dictionaryLiteral: marked, ("Sec-Fetch-Site", site))
      #expect(self.isRefused(fields) == isRefused, "\(site)")
    }
  }
}
