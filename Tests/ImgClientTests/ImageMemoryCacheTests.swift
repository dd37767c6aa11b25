import FoundationEssentials
import ImgModel
import ImgSystem
import ImgWire
import Synchronization
import TestCluster
import Testing

@testable import ImgClient

struct ImageMemoryCacheTests {
  private let cache = ImageMemoryCache()

  private func image(_ byteCount: Int, expiresIn seconds: Double = 60) -> LoadedImage {
    LoadedImage(
      bytes: [UInt8](repeating: 7, count: byteCount), format: .jpeg, width: 1, height: 1,
      source: SourcePicture(format: .jpeg, width: 1, height: 1, byteCount: 1),
      expiresAt: .now + seconds, origin: .network)
  }

  private func request(_ number: Int) -> ImageRequest {
    ImageRequest(url: "https://example.org/\(number)")
  }

  @Test func `it has at least 10 MiB, and 40 MiB by default`() {
    #expect(ImageMemoryCache().capacity == 41_943_040)
    #expect(ImageMemoryCache(capacity: 1).capacity == 10_485_760)
  }

  @Test func `it never has more bytes than its capacity, and the newest images`() {
    let cache = ImageMemoryCache(capacity: 10 << 20)
    for number in 0..<300 { cache.insert(image(100_000), for: request(number)) }
    #expect(cache.statistics.byteCount <= 10 << 20)
    #expect(cache.statistics.count == 104)
    #expect(cache.image(for: request(299)) != nil)
    #expect(cache.image(for: request(0)) == nil)
    #expect(cache.statistics.hitCount == 1)
    #expect(cache.statistics.missCount == 1)
  }

  @Test func `an image is from memory when it comes from here`() {
    cache.insert(image(10), for: request(1))
    #expect(cache.image(for: request(1))?.origin == .memory)
  }

  @Test func `an image that has expired, or is not stored, is not kept`() {
    cache.insert(image(10, expiresIn: -1), for: request(1))
    #expect(cache.image(for: request(1)) == nil)
    #expect(cache.statistics.count == 0)
    cache.insert(.sample, for: request(2))
    #expect(cache.image(for: request(2)) == nil)
  }

  @Test func `a URL that needs no origin has no query, and an image of its own`() {
    func drawing(_ text: String) -> ImageRequest {
      var request = ImageRequest(url: "data:image/svg+xml,<svg/>?\(text)=1")
      request.ignoredQuery = ["x", "y"]
      return request
    }
    cache.insert(image(10), for: drawing("x"))
    #expect(cache.image(for: drawing("x")) != nil)
    #expect(cache.image(for: drawing("y")) == nil)
  }

  @Test func `a cache key is the whole name of a picture, and a version is part of a URL's`() throws
  {
    func name(_ key: String?, _ version: String?) throws -> String {
      var request = request(1)
      (request.cacheKey, request.version) = (key, version)
      return try ClusterRequest(request).name.text
    }
    #expect(try name(nil, "1") == "https://example.org/1#1")
    #expect(try name("a#1", nil) == "a#1")
    #expect(try name("a", "1") == "a")
  }

  private func pixels(_ side: Int, filledWith sample: UInt8 = 7) throws -> ImagePixels {
    let pixel = ImagePixels.Pixel(red: sample, green: sample, blue: sample, alpha: sample)
    return try #require(ImagePixels(width: side, height: side, filledWith: pixel))
  }

  @Test func `pixels cost their bytes, and leave by use like images`() throws {
    let cache = ImageMemoryCache(capacity: 10 << 20)
    let drawn = try pixels(256)
    for number in 0..<60 {
      cache.insert(drawn, of: image(10), for: request(number))
      cache.insert(image(10), for: request(1_000 + number))
    }
    #expect(cache.statistics.byteCount <= 10 << 20)
    // 39 pixels, and the image that came after those that left last.
    #expect(cache.statistics.count == 39 + 40)
    #expect(cache.pixels(for: request(59)) == drawn)
    #expect(cache.pixels(for: request(0)) == nil)
    #expect(cache.image(for: request(1_059)) != nil)
    #expect(cache.statistics.hitCount == 2)
    #expect(cache.statistics.missCount == 0)
    cache.insert(try pixels(1_620), of: image(10), for: request(2_000))
    #expect(cache.pixels(for: request(2_000)) == nil)
  }

  @Test func `pixels stay as long as their image may, and go with it`() throws {
    cache.insert(try pixels(1), of: image(10, expiresIn: -1), for: request(1))
    cache.insert(try pixels(1), of: .sample, for: request(2))
    #expect(cache.statistics.count == 1)
    #expect(cache.pixels(for: request(1)) == nil)
    #expect(cache.statistics.count == 0)
    cache.insert(image(10), for: request(3))
    cache.insert(try pixels(1), of: image(10), for: request(3))
    cache.insert(image(11), for: request(3))
    #expect(cache.pixels(for: request(3)) == nil)
    cache.insert(try pixels(1), of: image(11), for: request(3))
    cache.removeImage(for: request(3))
    #expect(cache.statistics.count == 0)
    cache.insert(try pixels(1), of: image(11), for: request(3))
    var reload = request(3)
    reload.cachePolicy = .reload
    #expect(cache.pixels(for: reload) == nil)
    cache.removeAll()
    #expect(cache.statistics.byteCount == 0)
  }

  @Test func `variants, headers and leniency tell images apart`() {
    cache.insert(image(10), for: request(1))
    var other = request(1)
    other.variant.quality = 50
    #expect(cache.image(for: other) == nil)
    other = request(1)
    other.headers = [.init("accept", "image/png")]
    #expect(cache.image(for: other) == nil)
    other = request(1)
    other.acceptsDamage = true
    #expect(cache.image(for: other) == nil)
  }

  @Test func `a request that wants the origin's answer, or waits, is not answered from memory`() {
    cache.insert(image(10), for: request(1))
    for policy in [ImageRequest.CachePolicy.reload, .byProtocol, .bypass] {
      var other = request(1)
      other.cachePolicy = policy
      #expect(cache.image(for: other) == nil)
    }
    var other = request(1)
    other.delay = .seconds(1)
    #expect(cache.image(for: other) == nil)
    other = request(1)
    other.expiry = .afterAccess(.seconds(60))
    #expect(cache.image(for: other) == nil)
    other.expiry = .standard
    #expect(cache.image(for: other) != nil)
  }

  @Test func `images can be forgotten`() {
    for number in 0..<3 { cache.insert(image(10), for: request(number)) }
    cache.removeImage(for: request(1))
    #expect(cache.image(for: request(1)) == nil)
    #expect(cache.statistics.count == 2)
    cache.removeAll()
    #expect(cache.statistics.count == 0)
    #expect(cache.statistics.byteCount == 0)
  }

  @Test func `the images of a URL can be forgotten, however it is spelled`() {
    let others = ["https://example.org/b", "https://example.org/a/"]
    let spellings = ["https://example.org/a", "HTTPS://Example.org/a#top", "example.org/a"]
    for url in spellings + others { cache.insert(image(10), for: ImageRequest(url: url, size: 8)) }
    cache.insert(image(10), for: ImageRequest(url: spellings[0], size: 9))
    cache.removeImages(of: "https://example.org/a")
    #expect(cache.statistics.count == others.count)
    for url in others { #expect(cache.image(for: ImageRequest(url: url, size: 8)) != nil) }
  }

  @Test func `the images of a cache key can be forgotten, and no others`() {
    var named = ImageRequest(url: "https://example.org/a", size: 8)
    cache.insert(image(10), for: named)
    named.cacheKey = "photo 1"
    for size in [8, 9] {
      named.variant = ImageVariant(size: size)
      cache.insert(image(10), for: named)
    }
    named.url = "https://example.org/b"
    cache.removeImages(for: named)
    #expect(cache.statistics.count == 1)
    cache.removeImages(of: "https://example.org/a")
    #expect(cache.statistics.count == 0)
  }

  @Test func `little memory of the machine leaves an eighth of the capacity`() {
    let memory = AvailableMemory(availableByteCount: 4, totalByteCount: 100)
    let cache = ImageMemoryCache(capacity: 16 << 20, pressure: MemoryPressure { [memory] })
    for number in 0..<40 { cache.insert(image(100_000), for: request(number)) }
    #expect(cache.statistics.byteCount <= 2 << 20)
    #expect(cache.image(for: request(39)) != nil)
  }

  @Test func `an image that is too large removes no other`() {
    let cache = ImageMemoryCache(capacity: 10 << 20)
    cache.insert(image(10), for: request(1))
    cache.insert(image(11 << 20), for: request(2))
    #expect(cache.image(for: request(1)) != nil)
    #expect(cache.image(for: request(2)) == nil)
  }

  private func fill(_ cache: ImageMemoryCache, upTo byteCount: Int) {
    for number in 0..<byteCount / 100_000 { cache.insert(image(100_000), for: request(number)) }
  }

  @Test func `clients of a cluster share its budget, and take what others leave`() throws {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster)
    let cache = try #require(client.memoryCache)
    fill(cache, upTo: 30 << 20)
    try {
      let other = try #require(ImageClient(transport: cluster).memoryCache)
      fill(other, upTo: 5 << 20)
      #expect(cache.statistics.byteCount > 29 << 20, "there is room for both")
      fill(other, upTo: 30 << 20)
      let sizes = [cache, other].map(\.statistics.byteCount)
      #expect(sizes.allSatisfy { $0 > 19 << 20 })
      #expect(sizes[0] + sizes[1] <= 40 << 20)
    }()
    fill(cache, upTo: 45 << 20)
    #expect(cache.statistics.byteCount > 39 << 20)
  }

  @Test func `another share is in effect at once, and what a cache was given stays its maximum`()
    throws
  {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster)
    let limited = ImageClient(
      transport: cluster, memoryCache: ImageMemoryCache(capacity: 16 << 20))
    let cache = try #require(client.memoryCache)
    fill(cache, upTo: 30 << 20)
    for (share, maximum) in [(20, 16), (5, 5), (80, 16)] {
      cluster.memory.change(to: share << 20)
      #expect(cache.capacity == share << 20)
      #expect(limited.memoryCache?.capacity == maximum << 20)
      #expect(cache.statistics.byteCount <= share << 20)
    }
    #expect(cache.image(for: request(30 << 20 / 100_000 - 1)) != nil, "the newest stay")
    fill(cache, upTo: 90 << 20)
    #expect(cache.statistics.byteCount > 79 << 20)
  }

  /// Something with so many bytes.
  private final class User: MemoryUser {
    private let kept: Atomic<Int>

    init(_ byteCount: Int) { kept = Atomic(byteCount) }

    var keptByteCount: Int { kept.load(ordering: .relaxed) }

    func trim(toByteCount byteCount: Int) { kept.store(byteCount, ordering: .relaxed) }
  }

  @Test(arguments: [
    (kept: [70, 0, 0], left: [70, 0, 0]), ([70, 10, 30], [67, 10, 23]),
    ([70, 40, 10], [67, 23, 10]), ([70, 70, 70], [60, 20, 20]), ([5, 90, 6], [5, 89, 6]),
  ])
  func `who keeps less than its part loses nothing`(kept: [Int], left: [Int]) {
    let share = MemoryShare()
    let users = zip(kept, [3, 1, 1]).map { byteCount, weight in
      let user = User(byteCount)
      share.add(user, weight: weight)
      return user
    }
    #expect(users.map(share.part) == [3, 1, 1].map { MemoryShare.standardByteCount / 5 * $0 })
    share.change(to: 100)
    #expect(users.map(\.keptByteCount) == left)
    #expect(share.keptByteCount == left.reduce(0, +))
  }

  @Test func `a request for a longer expiry is not answered from memory`() {
    cache.insert(image(10), for: request(1))
    var other = request(1)
    other.expiry = .after(.seconds(3_600))
    #expect(cache.image(for: other) == nil)
  }

  @Test func `memory is little where less than a twentieth of any limit is left`() {
    func isHigh(_ available: [Int]) -> Bool {
      let limits = available.map { AvailableMemory(availableByteCount: $0, totalByteCount: 100) }
      return MemoryPressure { limits }.isHigh(at: .now)
    }
    #expect(!isHigh([5, 50]))
    #expect(isHigh([4, 50]))
    #expect(isHigh([50, 4]))
    #expect(!isHigh([]))
  }

  @Test func `memory is looked at once a second`() {
    let reads = Mutex(0)
    let pressure = MemoryPressure {
      reads.withLock { $0 += 1 }
      return []
    }
    let now = ContinuousClock.now
    for milliseconds in [0, 500, 999, 1_000, 1_500] {
      _ = pressure.isHigh(at: now + .milliseconds(milliseconds))
    }
    #expect(reads.withLock { $0 } == 2)
  }
}

/// What the coordinator gives the processes of its memory budget.
@Suite(.timeLimit(.minutes(20)))
struct MemoryBudgetTests {
  @Test func `clients have equal shares, and that of one who leaves goes to the others`()
    async throws
  {
    let (backend, client) = try RealBackend.serving("a", "b")
    let cache = try #require(client.memoryCache)
    _ = try await client.image(for: backend.url("a"))
    func status() throws -> ClusterStatus.Memory {
      try unsafe backend.cluster.client().answer(.status).memory
    }
    #expect(try await eventually { try status().processCount == 1 })
    #expect(cache.capacity == 41_943_040)
    try await {
      let other = try backend.makeClient()
      _ = try await other.image(for: backend.url("b"))
      #expect(
        try await eventually {
          [cache, other.memoryCache].map { $0?.capacity } == [20_971_520, 20_971_520]
        })
      #expect(try status() == .init(processCount: 1, shareByteCount: 41_943_040))
    }()
    #expect(try await eventually { cache.capacity == 41_943_040 })
    let change = LimitChange(memoryBudgetByteCount: 80 << 20)
    _ = unsafe try backend.cluster.client().answer(.limit(change))
    #expect(try await eventually { cache.capacity == 80 << 20 })
    #expect(try unsafe backend.cluster.imgctl("stop").exitCode == 0)
    #expect(cache.capacity == 80 << 20, "without a coordinator, the last share holds")
    try unsafe backend.cluster.start()
    let stored = ImageRequest(url: backend.url("b"))
    #expect(
      try await eventually {
        cache.removeImage(for: stored)
        return try client.cachedImage(for: stored) != nil && cache.capacity == 41_943_040
      }, "the next coordinator is asked when more is kept")
  }

  @Test func `a process that only reads the store takes its share, too`() async throws {
    let (backend, client) = try RealBackend.serving("a")
    _ = try await client.image(for: backend.url("a"))
    let reader = try backend.makeClient()
    #expect(try reader.cachedImage(for: ImageRequest(url: backend.url("a"))) != nil)
    #expect(
      try await eventually {
        [client, reader].map { $0.memoryCache?.capacity } == [20_971_520, 20_971_520]
      })
  }

  @Test func `a client without a memory of its own takes no share`() async throws {
    let backend = try RealBackend()
    try backend.serve("a")
    let client = ImageClient(transport: try backend.makeTransport(), memoryCache: nil)
    _ = try await client.image(for: backend.url("a"))
    #expect(try unsafe backend.cluster.client().answer(.status).memory.processCount == 0)
    let other = ImageClient(transport: client.transport)
    _ = try await other.image(for: backend.url("a"))
    #expect(
      try await eventually {
        try unsafe backend.cluster.client().answer(.status).memory.processCount == 1
      }, "one of the same transport has a share once it keeps something")
  }
}
