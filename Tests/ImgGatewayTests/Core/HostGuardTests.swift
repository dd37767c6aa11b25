import ImgHTTP
import Testing

@testable import ImgGateway

struct HostGuardTests {
  private func isRefused(
    _ guarded: HostGuard, _ fields: HTTPFields
  ) -> Bool {
    do throws(RequestRejection) {
      try guarded.check(HTTPRequest(.get, "/", fields: fields))
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
    let named = HostGuard(names: ["pictures.test"], isLocal: true, hasGallery: true)
    #expect(!isRefused(named, ["Host": host]))
  }

  @Test(arguments: [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8080", "", "[::1",
    "127.0.0", "128.0.0.1", "127.0.0.256",
  ])
  func `a local gateway does not answer to a name that leads to it from elsewhere`(host: String) {
    #expect(isRefused(HostGuard(names: [], isLocal: true, hasGallery: true), ["Host": host]))
  }

  @Test func `a gateway for other machines answers to every name, or to the given ones`() {
    let unnamed = HostGuard(names: [], isLocal: false, hasGallery: false)
    #expect(!isRefused(unnamed, ["Host": "any.example"]))
    let named = HostGuard(names: ["a.example"], isLocal: false, hasGallery: false)
    #expect(!isRefused(named, ["Host": "a.example"]))
    #expect(isRefused(named, ["Host": "b.example"]))
    #expect(isRefused(named, ["Host": "192.0.2.7.b.example"]))
    for host in ["localhost:8080", "192.0.2.7", "192.0.2.7:8080", "[2001:db8::7]:80", "[::1]"] {
      #expect(!isRefused(named, ["Host": host]), "\(host)")
    }
  }
}
