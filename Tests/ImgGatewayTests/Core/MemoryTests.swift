import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Testing

@testable import ImgGateway

/// What is kept in memory for requests that come again.
struct MemoryTests {
  private static func key(_ name: String) -> KnownRequests.Key {
    KnownRequests.Key(target: "/image?url=https://a.example/\(name)", accept: nil)
  }

  /// A request with an answer.
  private func value(byteCount: Int) -> KnownRequests.Value {
    let wanted = ImageRequest(url: "https://a.example/b")
    return KnownRequests.Value(
      query: ImageQuery(wanted), wanted: wanted, answer: answer(byteCount: byteCount))
  }

  private func answer(byteCount: Int) -> TimedAnswer {
    let image = PreparedImage(
      GatewayFixture.image(bytes: [UInt8](repeating: 1, count: byteCount)))
    let now = WallTime.now
    let response = image.response(to: HTTPRequest(.get, "/"), for: ImageQuery("a"), at: now)
    return TimedAnswer(response, of: image, from: now, until: now.advanced(by: .seconds(1)))
  }

  @Test(arguments: [(64 << 10, true), (64 << 10 + 1, false), (25 << 20, false)])
  func `an answer is kept if it is small, and the requests in any case`(
    byteCount: Int, isKept: Bool
  ) {
    let known = KnownRequests()
    known.insert(value(byteCount: 1), as: Self.key("a"))
    known.insert(value(byteCount: byteCount), as: Self.key("b"))
    #expect(known.value(of: Self.key("a")) != nil)
    #expect((known.value(of: Self.key("b"))?.answer != nil) == isKept)
  }

  @Test func `a large thumbnail does not push others out`() async throws {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let images = PreparedImages(client)
    let (small, large) = (
      ImageRequest(url: "https://a.example/small"), ImageRequest(url: "https://a.example/large")
    )
    cluster.serve(small.url, GatewayFixture.image(bytes: [1]))
    cluster.serve(
      large.url, GatewayFixture.image(bytes: [UInt8](repeating: 1, count: 33 << 20)))
    for request in [small, large] { _ = try await client.image(for: request) }
    let first = try #require(try images.entry(for: small, at: .now))
    let other = try #require(try images.entry(for: large, at: .now))
    #expect(other.image.body.count == 33 << 20)
    #expect(try images.entry(for: small, at: .now)?.image.body === first.image.body)
  }
}
