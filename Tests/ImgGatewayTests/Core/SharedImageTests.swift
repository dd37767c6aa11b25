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
    let body: HTTPBody? = if case .bytes(let body) = response.body { body } else { nil }
    return try #require(body)
  }

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

  /// A cluster that evicts every large picture before it is copied.
  private struct EvictingTransport: BoundedTransport {
    let cluster: InMemoryCluster

    func loadImage(
      for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
    ) async throws(ImageError) -> LoadedImage {
      try await cluster.loadImage(for: request, onUpdate: onUpdate)
    }

    func loadImage(
      for request: ImageRequest, bytesUpTo maximumByteCount: Int
    ) async throws(ImageError) -> LoadedImage {
      try await cluster.loadImage(for: request, bytesUpTo: maximumByteCount)
    }

    func storedImage(
      for request: ImageRequest, bytesUpTo maximumByteCount: Int
    ) throws(ImageError) -> LoadedImage? { nil }

    func wholeImage(
      _ image: LoadedImage, for request: ImageRequest
    ) throws(ImageError) -> LoadedImage? { nil }
  }

  @Test func `a large picture that is evicted before it is copied is loaded again`() async throws {
    let cluster = InMemoryCluster()
    cluster.serve(Self.url, Self.image(byteCount: 3 << 20))
    let client = ImageClient(
      transport: EvictingTransport(cluster: cluster), memoryCache: nil)
    let loader = PictureLoader(
      client: client, images: PreparedImages(client), limit: LoadLimit(1))
    let request = ImageRequest(url: Self.url)
    guard case .image(let image) = try await loader.image(for: request, within: .seconds(20)) else {
      Issue.record("there is no image")
      return
    }
    #expect(image.body.count == 3 << 20)
  }

  @Test func `without room for its bytes, a drawing stands in for a picture`() async throws {
    let cluster = InMemoryCluster()
    cluster.serve(Self.url, Self.image(byteCount: 600_000))
    let service = PictureService(
      ImageClient(transport: cluster, memoryCache: nil), maximumLoads: 10, timeout: .seconds(20),
      byteBudget: 1_000_000)
    func response(width: Int, _ fallback: ImageQuery.Fallback) async -> HTTPResponse {
      var query = ImageQuery(ImageRequest(url: Self.url, size: width))
      query.fallback = fallback
      return await service.response(to: HTTPRequest(.get, "/"), for: query)
    }
    let first = await response(width: 10, .failure)
    #expect(first.status == .ok)
    #expect(await response(width: 20, .failure).status == .serviceUnavailable)
    let drawing = await response(width: 30, .placeholder(.symbol(.photo)))
    #expect(drawing.fields["X-Imgctl-Failure"] == "too_many_requests")
    #expect(try body(first).count == 600_000)
  }

  @Test func `a client that has left causes no load of another picture`() async throws {
    let fixture = try GatewayFixture()
    let other = "https://a.example/other.jpg"
    fixture.serve(other)
    fixture.cluster.serve(Self.url, Self.image(byteCount: 1), after: [.hold])
    let task = Task { await fixture.response(.get, "\(Self.target)&default=\(other)") }
    try await fixture.waitForFetches(1, of: Self.url)
    task.cancel()
    _ = await task.value
    #expect(fixture.cluster.fetchCount(of: other) == 0)
  }
}
