import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Names whose addresses change or are of both kinds, and names in other letters. 127.0.0.1 stands
/// for the public internet, because it is allowed, and 127.0.0.2 for what is internal.
@Suite(.timeLimit(.minutes(20))) struct NameTests {
  private let origin: TestOrigin
  /// At the origin's port.
  private let inside: RawListener
  private let fetcher: Fetcher

  init() throws {
    origin = try TestOrigin { _, _ in .body([7]) }
    inside = try RawListener(host: 2, port: origin.port)
    fetcher = try Fetcher(allowing: ["127.0.0.1/32"])
  }

  @Test(arguments: [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]])
  func `of a name's addresses only the public one is connected to`(addresses: [String]) throws {
    FakeResolver.serve("both-\(addresses[0]).test", addresses)
    let url = "http://both-\(addresses[0]).test:\(origin.port)/a"
    #expect(try fetcher.fetch(url).body?.bytes == [7])
    #expect(!inside.acceptsConnection())
  }

  @Test func `a name's internal address is not tried when its public one fails`() throws {
    FakeResolver.serve("half.test", ["127.0.0.1", "127.0.0.2"])
    let port = origin.port
    origin.stop()
    let failure = try #require(fetcher.fetch("http://half.test:\(port)/a").failure)
    #expect(failure.code == .connectFailure)
    #expect(!inside.acceptsConnection())
  }

  @Test func `a name that is internal at the second look is refused then`() throws {
    FakeResolver.serve("turning.test", ["127.0.0.1"], ["127.0.0.2"])
    let second = try TestOrigin { _, _ in .body([8]) }
    let secondInside = try RawListener(host: 2, port: second.port)
    // libcurl remembers an answer by name and port.
    #expect(try fetcher.fetch("http://turning.test:\(origin.port)/a").body?.bytes == [7])
    let failure = try fetcher.fetch("http://turning.test:\(second.port)/a").failure
    #expect(failure?.code == .blockedAddress)
    #expect(FakeResolver.queryCount(of: "turning.test") == 2)
    #expect(!secondInside.acceptsConnection())
    #expect(second.totals().connectionsOpened == 0)
  }

  @Test func `a name that is internal when a redirect leads to it again is refused`() throws {
    FakeResolver.serve("returning.test", ["127.0.0.1"], ["127.0.0.2"])
    let second = try TestOrigin { _, _ in .body([8]) }
    let secondInside = try RawListener(host: 2, port: second.port)
    origin.serve("/a", .redirect(to: "http://returning.test:\(second.port)/b"))
    let failure = try fetcher.fetch("http://returning.test:\(origin.port)/a").failure
    #expect(failure?.code == .blockedAddress)
    #expect(!secondInside.acceptsConnection())
    #expect(second.totals().connectionsOpened == 0)
  }

  @Test func `a connection that is used again is the one that was checked`() throws {
    FakeResolver.serve("same.test", ["127.0.0.1"], ["127.0.0.2"])
    for path in ["/a", "/b"] {
      let url = "http://same.test:\(origin.port)\(path)"
      #expect(try fetcher.fetch(url).body?.bytes == [7])
    }
    #expect(origin.totals().connectionsOpened == 1)
    #expect(!inside.acceptsConnection())
  }

  @Test func `a name without an address does not affect the transfers after it`() throws {
    FakeResolver.serve("gone.test", [])
    FakeResolver.serve("there.test", ["127.0.0.1"])
    let good = "http://there.test:\(origin.port)/a"
    for _ in 1...3 {
      #expect(try fetcher.fetch("http://gone.test/a").failure?.code == .dnsFailure)
      let end = try fetcher.fetch(good)
      #expect(end.body?.bytes == [7], "\(String(describing: end.failure))")
    }
    let urls = Array(repeating: ["http://gone.test/a", good], count: 8).flatMap(\.self)
    let ends = try fetcher.fetch(urls)
    #expect(ends.filter { $0.failure?.code == .dnsFailure }.count == 8)
    #expect(ends.filter { $0.body?.bytes == [7] }.count == 8)
  }

  @Test func `an international name is looked up in the form that name servers know`() throws {
    // RFC 5891 section 4.4, RFC 3492
    FakeResolver.serve("xn--bcher-kva.test", ["127.0.0.1"])
    for name in ["bücher.test", "BÜCHER.test", "b%C3%BCcher.test"] {
      #expect(try fetcher.fetch("http://\(name):\(origin.port)/a").body?.bytes == [7])
    }
  }

  /// Two at a time: before it tries a third, libcurl waits for half of the time to connect.
  @Test(arguments: [["127.0.0.2", "10.0.0.1"], ["169.254.169.254", "127.0.0.2"]])
  func `a name with internal addresses alone is refused`(addresses: [String]) throws {
    FakeResolver.serve("inside-\(addresses[0]).test", addresses)
    let failure = try fetcher.fetch("http://inside-\(addresses[0]).test:\(origin.port)/a").failure
    #expect(failure?.code == .blockedAddress)
    #expect(!inside.acceptsConnection())
  }
}
