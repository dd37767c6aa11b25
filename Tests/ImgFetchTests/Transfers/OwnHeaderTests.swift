import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Headers that a client sets, as origins see them.
@Suite(.timeLimit(.minutes(20))) struct OwnHeaderTests {
  private static let standardAgent = "imgctl-test/1"
  private let origin: TestOrigin
  private let other: TestOrigin

  init() throws {
    origin = try TestOrigin()
    other = try TestOrigin()
    for served in [origin, other] { served.serve("/end", .body([7])) }
  }

  private func options(_ fields: [(String, String)]) throws -> FetchOptions {
    FetchOptions(headers: try HeaderFields(try fields.map(HeaderField.init)))
  }

  @Test func `own headers are sent beside the others, or in their place`() throws {
    let options = try options([
      ("Authorization", "Bearer word"), ("Accept", "image/png"), ("X-Empty", ""), ("X-B", "a, b"),
    ])
    #expect(try Fetcher().fetch(origin.baseURL + "/end", as: options).body?.bytes == [7])
    let seen = origin.counters("/end").headersSeen
    #expect(seen["authorization"] == "Bearer word")
    #expect(seen["accept"] == "image/png")
    #expect(seen["x-empty"] == "")
    #expect(seen["x-b"] == "a, b")
    #expect(seen["user-agent"] == Self.standardAgent)
    #expect(seen["host"] == "127.0.0.1:\(origin.port)")
  }

  @Test func `own headers go along to the same origin`() throws {
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .redirect(to: "\(origin.baseURL)/end"))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a", as: options([("x-key", "word")]))
    #expect(transfer.body?.bytes == [7])
    for path in ["/a", "/b", "/end"] {
      #expect(origin.counters(path).headersSeen["x-key"] == "word")
    }
  }

  @Test func `an automatic Referer is the origin of each URL that is requested`() throws {
    origin.serve("/a", .redirect(to: "http://localhost:\(other.port)/end"))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a", as: FetchOptions(referer: .ownOrigin))
    #expect(transfer.body?.bytes == [7])
    #expect(origin.counters("/a").headersSeen["referer"] == "\(origin.baseURL)/")
    #expect(other.counters("/end").headersSeen["referer"] == "http://localhost:\(other.port)/")
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `own headers do not go to another host or port, nor back from there`(host: String) throws {
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", .redirect(to: "http://\(host):\(other.port)/c"))
    other.serve("/c", .redirect(to: "/d"))
    other.serve("/d", .redirect(to: "\(origin.baseURL)/end"))
    let options = try options([
      ("X-Key", "word"), ("Authorization", "word"), ("User-Agent", "word"), ("Accept", "word"),
    ])
    let transfer = try Fetcher { $0.maxRedirects = 4 }.fetch(origin.baseURL + "/a", as: options)
    #expect(transfer.body?.bytes == [7])
    #expect(transfer.wasRedirected)
    for path in ["/a", "/b"] {
      #expect(origin.counters(path).headersSeen.values.count { $0 == "word" } == 4)
    }
    for seen in [other.counters("/c"), other.counters("/d"), origin.counters("/end")] {
      #expect(seen.requests == 1)
      #expect(!seen.headersSeen.values.contains("word"))
      #expect(seen.headersSeen["user-agent"] == Self.standardAgent)
      #expect(seen.headersSeen["accept"]?.contains("image/*") == true)
    }
  }

  @Test func `own headers do not go to another origin by a connection that is open already`() throws
  {
    origin.serve("/a", .redirect(to: other.baseURL + "/end"))
    let fetcher = try Fetcher()
    for path in ["/end", "/end"] { _ = try fetcher.fetch(other.baseURL + path) }
    let transfer = try fetcher.fetch(origin.baseURL + "/a", as: options([("x-key", "word")]))
    #expect(transfer.body?.bytes == [7])
    #expect(other.counters("/end").headersSeen["x-key"] == nil)
  }

  @Test func `leaving the origin is one redirect as any, of all that are allowed`() throws {
    origin.serve("/a", .redirect(to: other.baseURL + "/c"))
    other.serve("/c", .redirect(to: "/d"))
    other.serve("/d", .redirect(to: "/end"))
    let options = try options([("x-key", "word")])
    let enough = try Fetcher { $0.maxRedirects = 3 }.fetch(origin.baseURL + "/a", as: options)
    #expect(enough.body?.bytes == [7])
    let tooFew = try Fetcher { $0.maxRedirects = 2 }.fetch(origin.baseURL + "/a", as: options)
    #expect(tooFew.failure?.code == .tooManyRedirects)
    #expect(other.counters("/end").requests == 1)
  }

  @Test func `leaving the origin for a refused address is refused`() throws {
    origin.serve("/a", .redirect(to: "http://127.0.0.2:\(other.port)/end"))
    let transfer = try Fetcher(allowing: ["127.0.0.1/32"]).fetch(
      origin.baseURL + "/a", as: options([("x-key", "word")]))
    #expect(transfer.failure?.code == .blockedAddress)
    #expect(transfer.wasRedirected)
  }

  @Test func `headers of one transfer are not those of the next on its connection`() throws {
    let fetcher = try Fetcher()
    _ = try fetcher.fetch(origin.baseURL + "/end", as: options([("x-key", "word")]))
    #expect(origin.counters("/end").headersSeen["x-key"] == "word")
    _ = try fetcher.fetch(origin.baseURL + "/end")
    #expect(origin.counters("/end").headersSeen["x-key"] == nil)
  }
}
