import ImgHTTP
import Testing

@testable import ImgGateway

struct HostGuardTests {
  private func isRefused(
    _ guarded: HostGuard, _ fields: HTTPFields, method: HTTPMethod = .get
  ) -> Bool {
    do throws(RequestRejection) {
      try guarded.check(HTTPRequest(method, "/", fields: fields))
      return false
    } catch {
      return error.status == .forbidden
    }
  }

  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.2:80", "[::1]", "[::1]:8080",
    "pictures.test", "Pictures.Test:8080",
  ])
  func `a local gateway answers to names of this machine and to given ones`(host: String) {
    #expect(!isRefused(HostGuard(names: ["pictures.test"], isLocal: true), ["Host": host]))
  }

  @Test(arguments: [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8080", "", "[::1",
    "127.0.0", "128.0.0.1", "127.0.0.256",
  ])
  func `a local gateway does not answer to a name that leads to it from elsewhere`(host: String) {
    #expect(isRefused(HostGuard(names: [], isLocal: true), ["Host": host]))
  }

  @Test func `a gateway for other machines answers to every name, or to the given ones`() {
    #expect(!isRefused(HostGuard(names: [], isLocal: false), ["Host": "any.example"]))
    let named = HostGuard(names: ["a.example"], isLocal: false)
    #expect(!isRefused(named, ["Host": "a.example"]))
    #expect(isRefused(named, ["Host": "b.example"]))
    #expect(isRefused(named, ["Host": "localhost"]))
  }

  @Test func `a change needs the field that pages of other sites cannot send`() {
    let guarded = HostGuard(names: [], isLocal: true)
    let host = ("Host", "localhost")
    #expect(isRefused(guarded, HTTPFields(dictionaryLiteral: host), method: .post))
    let marked = ("X-Requested-With", "imgctl")
    #expect(!isRefused(guarded, HTTPFields(dictionaryLiteral: host, marked), method: .post))
    for (site, isRefused) in [
      ("same-origin", false), ("none", false), ("cross-site", true), ("same-site", true),
    ] {
      let fields = HTTPFields(dictionaryLiteral: host, marked, ("Sec-Fetch-Site", site))
      #expect(self.isRefused(guarded, fields, method: .post) == isRefused, "\(site)")
    }
  }
}
