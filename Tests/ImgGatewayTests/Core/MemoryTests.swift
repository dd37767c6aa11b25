import Dispatch
import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Synchronization
import Testing

@testable import ImgGateway

/// What is kept in memory for requests that come again.
@Suite(.timeLimit(.minutes(1)))
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

  private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }

  @Test func `an answer is kept with its request`() {
    let known = KnownRequests()
    known.insert(value(byteCount: 1), as: Self.key("a"))
    #expect(known.value(of: Self.key("a"))?.answer.byteCount == 1)
    #expect(known.value(of: Self.key("b")) == nil)
  }

  @Test func `requests take the room of their targets, which hold URLs of any length`() {
    let known = KnownRequests()
    let long = String(repeating: "x", count: 8_000)
    for index in 0..<3_000 { known.insert(value(byteCount: 1), as: Self.key("\(long)\(index)")) }
    // 24 MiB hold 1,350 of them.
    #expect(known.value(of: Self.key("\(long)1500")) == nil)
    #expect(known.value(of: Self.key("\(long)2999")) != nil)
  }

  /// A client whose store has thumbnails of some sizes, and the requests for them.
  private func store(
    _ byteCounts: Int...
  ) async throws -> (cluster: InMemoryCluster, images: PreparedImages, requests: [ImageRequest]) {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let requests = byteCounts.indices.map { ImageRequest(url: "https://a.example/\($0)") }
    for (request, count) in zip(requests, byteCounts) {
      cluster.serve(request.url, GatewayFixture.image(bytes: Self.bytes(count)))
      _ = try await client.image(for: request)
    }
    return (cluster, PreparedImages(client), requests)
  }

  private func entry(_ found: PreparedImages.Found) throws -> PreparedImages.Entry {
    guard case .hit(let entry) = found else { throw NotFound() }
    return entry
  }

  private struct NotFound: Error {}

  @Test func `a large thumbnail is not copied at once, and is shared from then on`() async throws {
    let (_, images, requests) = try await store(256 << 10, 256 << 10 + 1)
    let small = try entry(try images.find(requests[0], at: .now))
    #expect(small.image.body.count == 256 << 10)
    guard case .large(let facts) = try images.find(requests[1], at: .now) else {
      Issue.record("a large thumbnail was copied")
      return
    }
    let copied = try entry(await images.copy(facts, for: requests[1]))
    let shared = try entry(try images.find(requests[1], at: .now))
    #expect(copied.image.body.count == 256 << 10 + 1)
    #expect(copied.image.body === shared.image.body)
  }

  @Test func `the wait for the copies of others ends with the time of the request`() async throws {
    let (cluster, _, requests) = try await store(256 << 10 + 1)
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let copies = DispatchQueue(label: "test")
    let gate = DispatchSemaphore(value: 0)
    copies.async { gate.wait() }
    let images = PreparedImages(client, copies: copies)
    let loader = PictureLoader(client: client, images: images, limit: LoadLimit(1))
    let error = await #expect(throws: ImageError.self) {
      try await loader.image(for: requests[0], within: .milliseconds(20))
    }
    #expect(error?.code == .timeout)
    gate.signal()
    guard case .image = try await loader.image(for: requests[0], within: .seconds(20)) else {
      Issue.record("a queue that is free again copies nothing")
      return
    }
  }

  @Test func `work without a waiting request is left out`() async {
    let queue = DispatchQueue(label: "test")
    let gate = DispatchSemaphore(value: 0)
    queue.async { gate.wait() }
    let isSkipped = Mutex(false)
    let task = Task {
      await QueuedWork.value(on: queue) {
        1
      } skip: {
        isSkipped.withLock { $0 = true }
      }
    }
    task.cancel()
    #expect(await task.value == nil)
    gate.signal()
    #expect(await QueuedWork.value(on: queue) { 2 } == 2)
    #expect(isSkipped.withLock { $0 })
  }

  /// The hit for a request of any size.
  private func hit(
    _ request: ImageRequest, in images: PreparedImages
  ) async throws -> PreparedImages.Entry {
    let found = try images.find(request, at: .now)
    guard case .large(let facts) = found else { return try entry(found) }
    return try entry(await images.copy(facts, for: request))
  }

  @Test func `a large image that has expired since it was loaded is copied`() async throws {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster, memoryCache: nil)
    var request = ImageRequest(url: "https://a.example/b")
    request.expiry = .after(.milliseconds(1))
    cluster.serve(request.url, GatewayFixture.image(bytes: Self.bytes(1_000)))
    let facts = try await client.newImage(for: request, bytesUpTo: 999)
    #expect(facts.bytes.isEmpty)
    while try client.cachedImage(for: request) != nil { await Task.yield() }
    let copied = try entry(await PreparedImages(client).copy(facts, for: request))
    #expect(copied.image.body.count == 1_000)
  }

  @Test func `an image that is still the one of the store is not copied again`() async throws {
    let (cluster, images, requests) = try await store(2, 2 << 20)
    let now = WallTime.now
    let later = now.advanced(by: .seconds(2))
    for request in requests {
      let first = try await hit(request, in: images)
      #expect(try entry(try images.find(request, at: later)).image.body === first.image.body)
      #expect(try await cluster.removeImage(for: request))
      guard case .nothing = try images.find(request, at: later.advanced(by: .seconds(2))) else {
        Issue.record("a thumbnail that was removed is found")
        continue
      }
    }
  }

  @Test func `of two copies of an image, the first one is kept and given out`() async throws {
    let (cluster, _, requests) = try await store(1_000)
    let stored = try #require(try cluster.storedImage(for: requests[0]))
    let copies = [PreparedImage(stored), PreparedImage(stored)]
    let recent = RecentImages(capacity: 1 << 20)
    for copy in copies {
      let entry = PreparedImages.Entry(image: copy, checkedAt: .now)
      #expect(recent.insert(entry, for: requests[0]).image.body === copies[0].body)
    }
    #expect(recent.use(requests[0])?.image.body === copies[0].body)
  }

  @Test func `a large image takes the place of a small one`() async throws {
    let (cluster, images, requests) = try await store(1_000)
    let request = requests[0]
    let first = try await hit(request, in: images)
    let storedAt = try #require(first.image.storedAt)
    // Images that were stored at the same time count as the same.
    while WallTime.now <= storedAt { await Task.yield() }
    #expect(try await cluster.removeImage(for: request))
    cluster.serve(request.url, GatewayFixture.image(bytes: Self.bytes(1 << 20)))
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let facts = try await client.newImage(for: request, bytesUpTo: 1_000)
    let copied = try entry(await images.copy(facts, for: request))
    #expect(copied.image.body.count == 1 << 20)
    #expect(try await hit(request, in: images).image.body === copied.image.body)
  }

  @Test func `a large thumbnail does not push others out`() async throws {
    let (_, images, requests) = try await store(1, 33 << 20)
    let first = try entry(try images.find(requests[0], at: .now))
    #expect(try await hit(requests[1], in: images).image.body.count == 33 << 20)
    #expect(try entry(try images.find(requests[0], at: .now)).image.body === first.image.body)
  }

  @Test func `bytes that are in use have no room for others until they are released`() throws {
    let budget = ByteBudget(10)
    let image = GatewayFixture.image(bytes: Self.bytes(6))
    var first = PreparedImage(image, within: budget)
    #expect(first != nil)
    #expect(PreparedImage(image, within: budget) == nil)
    #expect(PreparedImage(GatewayFixture.image(bytes: Self.bytes(4)), within: budget) != nil)
    first = nil
    #expect(PreparedImage(image, within: budget) != nil)
  }
}
