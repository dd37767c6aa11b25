import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings
import Testing

@testable import ImgGateway

/// What a list of origins does to requests.
struct PermittedOriginsTests {
  private let list: OriginList

  init() throws {
    list = try OriginList(parsing: ["good.example", "data:"])
  }

  @Test func `the address and the default of a request must be permitted`() throws {
    let queries = ImageQueries(origins: list)
    for query in ["url=good.example/a&default=good.example/b", "url=data:,a"] {
      _ = try queries.weserv(RequestTarget("/?" + query))
    }
    for query in ["url=evil.example", "url=good.example&default=evil.example", "url=file:///a"] {
      let rejection = try #require(throws: RequestRejection.self) {
        try queries.weserv(RequestTarget("/?" + query))
      }
      #expect(rejection.status == .forbidden)
    }
    #expect(throws: RequestRejection.self) {
      try queries.imgproxy(
        RequestTarget("/_/plain/https://good.example%2540evil.example/"), now: WallTime(rawValue: 0)
      )
    }
  }

  @Test func `redirects of a request stay on the list`() throws {
    let queries = ImageQueries(origins: list)
    let weserv = try queries.weserv(RequestTarget("/?url=good.example/a"))
    let imgproxy = try queries.imgproxy(
      RequestTarget("/_/plain/https://good.example/a"), now: WallTime(rawValue: 0))
    #expect([weserv, imgproxy].map(\.request.redirectOrigins) == [list, list])
    let free = try ImageQueries().weserv(RequestTarget("/?url=good.example/a"))
    #expect(free.request.redirectOrigins == .all)
  }

  @Test func `redirects of a listed URL stay on the list if the URL is there`() {
    #expect(list.redirectOrigins(ofListed: "https://good.example/a") == list)
    #expect(list.redirectOrigins(ofListed: "https://other.example/a") == .all)
    #expect(list.redirectOrigins(ofListed: "no URL") == .all)
  }

  @Test func `an entry that is no origin is named`() throws {
    let error = try #require(throws: InvalidValue.self) {
      try OriginList(parsing: ["good.example", "a b"])
    }
    #expect(error.reason.hasPrefix(#""a b" is not an origin; write https://example.org,"#))
  }

  @Test func `too many origins are refused`() {
    #expect(throws: InvalidValue.self) {
      try OriginList(parsing: (0...OriginList.maximumCount).map { "host\($0).example" })
    }
  }
}
