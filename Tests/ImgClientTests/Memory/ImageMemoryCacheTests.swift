import FoundationEssentials
import ImgSystem
import Testing

@testable import ImgClient

struct ImageMemoryCacheTests {
  private func image(_ byteCount: Int, expiresIn seconds: Double = 60) -> LoadedImage {
    LoadedImage(
      bytes: [UInt8](repeating: 7, count: byteCount), type: .jpeg, width: 1, height: 1,
      source: .init(type: .jpeg, width: 1, height: 1, byteCount: 1),
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
    #expect(cache.statistics.hits == 1)
    #expect(cache.statistics.misses == 1)
  }

  @Test func `an image is from memory when it comes from here`() {
    let cache = ImageMemoryCache()
    cache.insert(image(10), for: request(1))
    #expect(cache.image(for: request(1))?.origin == .memory)
  }

  @Test func `an image that has expired, or is not stored, is not kept`() {
    let cache = ImageMemoryCache()
    cache.insert(image(10, expiresIn: -1), for: request(1))
    #expect(cache.image(for: request(1)) == nil)
    #expect(cache.statistics.count == 0)
    cache.insert(.sample, for: request(2))
    #expect(cache.image(for: request(2)) == nil)
  }

  @Test func `variants, headers and leniency tell images apart`() {
    let cache = ImageMemoryCache()
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
    let cache = ImageMemoryCache()
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
    let cache = ImageMemoryCache()
    for number in 0..<3 { cache.insert(image(10), for: request(number)) }
    cache.removeImage(for: request(1))
    #expect(cache.image(for: request(1)) == nil)
    #expect(cache.statistics.count == 2)
    cache.removeAll()
    #expect(cache.statistics.count == 0)
    #expect(cache.statistics.byteCount == 0)
  }

  @Test func `little memory of the machine leaves an eighth of the capacity`() {
    let memory = AvailableMemory(availableByteCount: 4, totalByteCount: 100)
    let cache = ImageMemoryCache(capacity: 16 << 20, pressure: MemoryPressure { memory })
    for number in 0..<40 { cache.insert(image(100_000), for: request(number)) }
    #expect(cache.statistics.byteCount <= 2 << 20)
    #expect(cache.image(for: request(39)) != nil)
  }

  @Test func `memory is little below a twentieth, and is looked at once a second`() {
    let now = ContinuousClock.now
    var isLow = false
    func pressure() -> MemoryPressure {
      let available = isLow ? 4 : 5
      return MemoryPressure { AvailableMemory(availableByteCount: available, totalByteCount: 100) }
    }
    #expect(!pressure().isHigh(at: now))
    isLow = true
    #expect(pressure().isHigh(at: now))
    #expect(!MemoryPressure { nil }.isHigh(at: now))
  }
}
