import ImgClient
import ImgHTTP
import Testing

@testable import ImgGateway

/// Answers with the same thumbnail have the same bytes in memory.
@Suite(.timeLimit(.minutes(1)))
struct SharedImageTests {
  private static let url = "https://a.example/a.jpg"
  private static let target = "/image?url=\(url)"

  private func body(_ response: HTTPResponse) throws -> HTTPBody {
    guard case .bytes(let body) = response.body else { throw NoBody() }
    return body
  }

  private struct NoBody: Error {}

  private static func image(byteCount: Int) -> LoadedImage {
    GatewayFixture.image(bytes: [UInt8](repeating: 7, count: byteCount))
  }

  @Test(arguments: [1_000, 3 << 20])
  func `requests that wait for the same new picture share it`(byteCount: Int) async throws {
    let fixture = try GatewayFixture()
    fixture.cluster.serve(Self.url, Self.image(byteCount: byteCount), after: [.hold])
    async let first = fixture.response(.get, Self.target)
    async let second = fixture.response(.get, "\(Self.target)&filename=b.jpg")
    try await fixture.waitForFetches(1, of: Self.url)
    fixture.cluster.resume(Self.url)
    let responses = await [first, second]
    for response in responses { #expect(response.status == .ok) }
    #expect(responses.contains { $0.fields["X-Imgctl-From"] == "network" })
    let shared = try body(responses[0])
    #expect(shared.count == byteCount)
    #expect(try body(responses[1]) === shared)
    let hit = await fixture.response(.get, Self.target)
    #expect(hit.fields["X-Imgctl-From"] == "store")
    #expect(try body(hit) === shared)
  }

  @Test(arguments: [1_000, 3 << 20])
  func `a picture that stands in for others is shared with its own answers`(
    byteCount: Int
  ) async throws {
    let fixture = try GatewayFixture()
    fixture.cluster.serve(Self.url, Self.image(byteCount: byteCount))
    let target = "/image?url=https://b.example/none.jpg&default=\(Self.url)"
    let shared = try body(await fixture.response(.get, target))
    #expect(shared.count == byteCount)
    #expect(try body(await fixture.response(.get, "\(target)&filename=b.jpg")) === shared)
    #expect(try body(await fixture.response(.get, Self.target)) === shared)
  }

  @Test func `a large picture that is no longer found after its load is loaded with its bytes`()
    async throws
  {
    let cluster = InMemoryCluster()
    let image = Self.image(byteCount: 3 << 20)
    cluster.serve(Self.url, image)
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let loader = PictureLoader(
      client: client, images: PreparedImages(client), limit: LoadLimit(1))
    var request = ImageRequest(url: Self.url)
    // The store never answers such a request.
    request.cachePolicy = .reload
    let outcome = try await loader.image(for: request, found: .nothing, within: .seconds(20))
    guard case .image(let prepared) = outcome else {
      Issue.record("there is no image")
      return
    }
    #expect(prepared.body.bytes == image.bytes)
    #expect(prepared.origin == .network)
  }
}
