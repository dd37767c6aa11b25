import Dispatch
import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Synchronization
import Testing

@testable import ImgGateway

/// What is kept in memory for requests that come again.
@Suite(.timeLimit(.minutes(20)))
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
    let image = PreparedImage(GatewayFixture.image(bytes: [UInt8](repeating: 1, count: byteCount)))
    let now = WallTime.now
    let response = image.response(to: HTTPRequest(.get, "/"), for: ImageQuery("a"), at: now)
    return TimedAnswer(response, of: image, from: now, until: now.advanced(by: .seconds(1)))
  }

  private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }

  @Test func `requests take the room of their targets, which hold URLs of any length`() {
    let memory = MemoryShare()
    memory.change(to: 24 << 20)
    let known = KnownRequests(in: memory)
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
    guard case .image = try await loader.image(for: requests[0], within: GatewayFixture.patience)
    else {
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
    let recent = RecentImages(in: MemoryShare(), weight: 1)
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

  @Test func `all that is kept stays within the share of the process`() async throws {
    let fixture = try GatewayFixture()
    let memory = fixture.cluster.memory
    memory.change(to: 10 << 20)
    var peak = 0
    for (number, byteCount) in [60_000, 200_000, 2 << 20, 5 << 20].enumerated() {
      for index in 0..<40 {
        let url = "https://a.example/\(number)/\(index)"
        fixture.cluster.serve(url, GatewayFixture.image(bytes: Self.bytes(byteCount)))
        // Loaded, from the store, and repeated; and a failure that is remembered.
        for target in [url, url, url, "\(url)/none&wait=20000"] {
          _ = await fixture.response(.get, "/image?url=\(target)")
          peak = max(peak, memory.keptByteCount)
        }
      }
    }
    #expect(peak <= 10 << 20)
    #expect(memory.keptByteCount > 7 << 20)
    let text = await fixture.response(.get, "/metrics").text
    #expect(text.contains("imgctl_gateway_memory_limit_bytes 10485760\n"))
    #expect(text.contains("imgctl_gateway_memory_bytes \(memory.keptByteCount)\n"))
    memory.change(to: 1 << 20)
    #expect(memory.keptByteCount <= 1 << 20)
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

/// Answers with the same thumbnail have the same bytes in memory.
@Suite(.timeLimit(.minutes(20)))
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
  func `a picture that stands in for others has shared answers`(byteCount: Int) async throws {
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
    let client = ImageClient(transport: EvictingTransport(cluster: cluster), memoryCache: nil)
    let loader = PictureLoader(client: client, images: PreparedImages(client), limit: LoadLimit(1))
    let request = ImageRequest(url: Self.url)
    guard
      case .image(let image) = try await loader.image(for: request, within: GatewayFixture.patience)
    else {
      Issue.record("there is no image")
      return
    }
    #expect(image.body.count == 3 << 20)
  }

  @Test func `without room for its bytes, a drawing stands in for a picture`() async throws {
    let cluster = InMemoryCluster()
    cluster.serve(Self.url, Self.image(byteCount: 600_000))
    let service = PictureService(
      ImageClient(transport: cluster, memoryCache: nil), maximumLoads: 10,
      timeout: GatewayFixture.patience,
      byteBudget: 1_000_000)
    func response(width: Int, _ fallback: Substitute?) async -> HTTPResponse {
      var query = ImageQuery(ImageRequest(url: Self.url, size: width))
      query.fallback = fallback
      return await service.response(to: HTTPRequest(.get, "/"), for: query)
    }
    let first = await response(width: 10, nil)
    #expect(first.status == .ok)
    #expect(await response(width: 20, nil).status == .serviceUnavailable)
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

@Suite(.timeLimit(.minutes(20))) struct LoadLimitTests {
  private struct Ended: Error {}

  /// A load that is under way until it is ended or cancelled.
  private final class Load: Sendable {
    private let gate = AsyncStream<Void>.makeStream()
    private let task: Task<Bool, Never>

    /// - Parameter begun: gets whether the limit permits the load.
    init(from host: String, in limit: LoadLimit, begun: @escaping @Sendable (Bool) -> Void) {
      task = Task.immediate { [stream = gate.stream] in
        do {
          let isWhole = try await limit.load(from: host) { () async throws(Ended) in
            begun(true)
            for await _ in stream { return true }
            throw Ended()
          }
          if isWhole == nil { begun(false) }
          return isWhole ?? false
        } catch {
          return false
        }
      }
    }

    func end() { gate.continuation.yield() }

    /// Whether it came to its own end.
    var isWhole: Bool { get async { await task.value } }
  }

  /// - Returns: `nil` without a load.
  private func begin(_ host: String, in limit: LoadLimit) async -> Load? {
    let begun = AsyncStream<Bool>.makeStream()
    let load = Load(from: host, in: limit) { isBegun in
      begun.continuation.yield(isBegun)
      begun.continuation.finish()
    }
    for await isBegun in begun.stream where isBegun { return load }
    return nil
  }

  /// Begins as many loads of a host as the limit permits.
  private func fill(_ limit: LoadLimit, _ host: String, atMost maximum: Int = .max) async -> [Load]
  {
    var loads: [Load] = []
    while loads.count < maximum, let load = await begin(host, in: limit) { loads.append(load) }
    return loads
  }

  @Test func `one group of hosts leaves room for others, and they for more`() async {
    let limit = LoadLimit(512)
    let counts = [
      await fill(limit, "a.example.org"), await fill(limit, "b.example.org"),
      await fill(limit, "b"), await fill(limit, "c"),
    ].map(\.count)
    #expect(counts == [384, 0, 96, 24])
    #expect(limit.count == 504)
  }

  @Test(arguments: 1...4) func `every load of a small limit can be used`(maximum: Int) async {
    let limit = LoadLimit(maximum)
    for number in 0..<maximum { #expect(await begin("\(number)", in: limit) != nil) }
    #expect(limit.count == maximum)
  }

  @Test func `while no load is free, the largest group loses its oldest to a smaller one`() async {
    let limit = LoadLimit(4)
    let slow = await fill(limit, "a", atMost: 2)
    let others = [await begin("b", in: limit), await begin("c", in: limit)]
    let new = await begin("d", in: limit)
    #expect(new != nil)
    #expect(await !slow[0].isWhole)
    #expect(limit.count == 4)
    // All groups are equal now. Another one of "a" could only take the place of one of "b".
    #expect(await begin("a", in: limit) == nil)
    for load in [slow[1], others[0], others[1], new] { load?.end() }
    for load in [slow[1], others[0], others[1], new] { #expect(await load?.isWhole == true) }
    #expect(limit.count == 0)
  }

  @Test func `two groups do not take a load from each other by turns`() async {
    let limit = LoadLimit(3)
    let first = await fill(limit, "a", atMost: 2) + fill(limit, "b", atMost: 1)
    #expect(await begin("b", in: limit) == nil)
    for load in first {
      load.end()
      #expect(await load.isWhole)
    }
  }

  @Test func `among many slow groups, a host is refused only until they are known slow`() async {
    let clock = Mutex(ContinuousClock.now)
    let limit = LoadLimit(8) { clock.withLock(\.self) }
    func beginSlowOnes() async {
      for number in 0..<20 { _ = await begin("slow\(number)", in: limit) }
    }
    await beginSlowOnes()
    #expect(limit.count == 8)
    // Each is of another host, as where many people look at many hosts, and the first ones soon end.
    #expect(await begin("new", in: limit) == nil)
    for _ in 1...3 {
      clock.withLock { $0 += .seconds(10) }
      await beginSlowOnes()
    }
    for number in 0..<20 {
      let load = await begin("new\(number)", in: limit)
      // Those that are slow have nothing to take from others.
      await beginSlowOnes()
      load?.end()
      #expect(await load?.isWhole == true)
      clock.withLock { $0 += .seconds(5) }
    }
    clock.withLock { $0 += .seconds(600) }
    let load = await begin("slow19", in: limit)
    load?.end()
    #expect(await load?.isWhole == true)
  }

  @Test func `a slow group whose load ends soon is slow no more`() async {
    let clock = Mutex(ContinuousClock.now)
    let limit = LoadLimit(2) { clock.withLock(\.self) }
    let first = await fill(limit, "a", atMost: 1) + fill(limit, "b", atMost: 1)
    clock.withLock { $0 += .seconds(10) }
    // "a" is slow, and so is "b".
    let new = await begin("c", in: limit)
    #expect(new != nil)
    #expect(await begin("a", in: limit) == nil)
    first[1].end()
    #expect(await first[1].isWhole)
    let soon = await begin("a", in: limit)
    soon?.end()
    #expect(await soon?.isWhole == true)
    _ = await begin("b", in: limit)
    clock.withLock { $0 += .seconds(10) }
    #expect(await begin("a", in: limit) != nil)
  }

  @Test func `a load that fails ends, too`() async {
    let limit = LoadLimit(1)
    await #expect(throws: Ended.self) {
      try await limit.load(from: "a") { () async throws(Ended) in throw Ended() }
    }
    #expect(limit.count == 0)
  }
}
