import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// What is not told to an origin, by what the origin saw.
@Suite(.timeLimit(.minutes(20))) struct SecrecyTests {
  /// RFC 7617 section 2, of `user:word`.
  private static let credentials = "Basic dXNlcjp3b3Jk"

  /// Neither way changes what a redirect sends.
  private static let ways = [FetchOptions.standard, FetchOptions(respectsRobots: true)]

  @Test(arguments: ways, [false, true])
  func `credentials in a URL go to its own host, also after a redirect there`(
    options: FetchOptions, isAbsolute: Bool
  ) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .redirect(to: isAbsolute ? "\(origin.baseURL)/b" : "/b"))
    origin.serve("/b", .body([7]))
    let url = "http://user:word@127.0.0.1:\(origin.port)/a"
    #expect(try Fetcher().fetch(url, as: options).body?.bytes == [7])
    #expect(origin.counters("/a").headersSeen["authorization"] == Self.credentials)
    #expect(origin.counters("/b").headersSeen["authorization"] == Self.credentials)
  }

  @Test(arguments: ways, ["127.0.0.1", "localhost"])
  func `credentials in a URL do not go to another host or port`(
    options: FetchOptions, host: String
  ) throws {
    let origins = try (0..<2).map { _ in try TestOrigin() }
    origins[0].serve("/a", .redirect(to: "http://\(host):\(origins[1].port)/b"))
    origins[1].serve("/b", .body([7]))
    let url = "http://user:word@127.0.0.1:\(origins[0].port)/a"
    #expect(try Fetcher().fetch(url, as: options).body?.bytes == [7])
    #expect(origins[0].counters("/a").headersSeen["authorization"] == Self.credentials)
    let seen = origins[1].counters("/b").headersSeen
    #expect(seen["authorization"] == nil)
    #expect(!seen.values.contains { $0.contains("word") })
  }

  @Test func `credentials of one transfer are not those of the next on its connection`() throws {
    let origin = try TestOrigin { _, _ in .body([7]) }
    let fetcher = try Fetcher()
    _ = try fetcher.fetch("http://user:word@127.0.0.1:\(origin.port)/a")
    _ = try fetcher.fetch(origin.baseURL + "/b")
    #expect(origin.counters("/b").headersSeen["authorization"] == nil)
  }

  @Test func `an origin sees nothing but what a fetch needs`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .body([7]))
    #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == [7])
    for path in ["/a", "/b"] {
      let names = Set(origin.counters(path).headersSeen.keys)
      #expect(names == ["host", "user-agent", "accept", "accept-encoding"])
    }
  }
}
