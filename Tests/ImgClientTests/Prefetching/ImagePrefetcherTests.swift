import ImgClient
import Testing

/// Thumbnails that are loaded before they are needed.
@Suite(.timeLimit(.minutes(20)))
struct ImagePrefetcherTests {
  private let cluster = InMemoryCluster()

  private func request(_ number: Int) -> ImageRequest {
    ImageRequest(url: "https://example.org/\(number)")
  }

  private func serve(_ numbers: some Sequence<Int>, after steps: [InMemoryCluster.Step] = []) {
    for number in numbers { cluster.serve(request(number).url, .sample, after: steps) }
  }

  private func counts(
    waiting: Int = 0, loading: Int = 0, loaded: Int = 0, failed: Int = 0, stopped: Int = 0
  ) -> [Int] {
    [waiting, loading, loaded, failed, stopped]
  }

  private func counts(of prefetcher: ImagePrefetcher) -> [Int] {
    let counts = prefetcher.counts
    return [counts.waiting, counts.loading, counts.loaded, counts.failed, counts.stopped]
  }

  @Test(arguments: Backend.allCases)
  func `all thumbnails come into the store, and the counts are exact`(
    backend: Backend
  ) async throws {
    let backend = try backend.make()
    let names = (0..<30).map { "\($0)" }
    for name in names { try backend.serve(name) }
    let client = try backend.makeClient()
    let prefetcher = ImagePrefetcher(client: client)
    let requests = (names + ["missing"]).map { ImageRequest(url: backend.url($0)) }
    prefetcher.start(requests + requests)
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 30, failed: 1))
    #expect(client.memoryCache?.statistics.count == 0)
    for request in requests.dropLast() {
      #expect(try client.cachedImage(for: request)?.origin == .store)
    }
    for name in names { #expect(backend.fetchCount(of: name) == 1) }
  }

  @Test func `no more loads are under way than the limit, in order`() async throws {
    serve(0..<5, after: [.hold])
    let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 2)
    prefetcher.start((0..<5).map(request))
    #expect(try await eventually { cluster.activeFetchCount == 2 })
    #expect(counts(of: prefetcher) == counts(waiting: 3, loading: 2))
    for number in 0..<5 { cluster.resume(request(number).url) }
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 5))
  }

  @Test func `a pause starts nothing, and what loads goes on`() async throws {
    serve([1], after: [.hold])
    serve([2])
    let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 1)
    prefetcher.start([request(1), request(2)])
    #expect(try await eventually { cluster.activeFetchCount == 1 })
    prefetcher.isPaused = true
    cluster.resume(request(1).url)
    #expect(try await eventually { prefetcher.counts.loaded == 1 })
    #expect(counts(of: prefetcher) == counts(waiting: 1, loaded: 1))
    prefetcher.isPaused = false
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 2))
  }

  @Test func `stopped requests load no further, and are counted once`() async throws {
    serve(1...3, after: [.hold])
    let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 1)
    prefetcher.start((1...3).map(request))
    #expect(try await eventually { cluster.activeFetchCount == 1 })
    prefetcher.stop([request(1), request(2), request(9)])
    #expect(try await eventually { cluster.fetchCount(of: request(3).url) == 1 })
    #expect(cluster.fetchCount(of: request(2).url) == 0)
    prefetcher.stopAll()
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(stopped: 3))
    #expect(cluster.activeFetchCount == 0)
    serve([1])
    prefetcher.start([request(1)])
    await prefetcher.waitUntilIdle()
    #expect(counts(of: prefetcher) == counts(loaded: 1, stopped: 3))
  }

  @Test func `a prefetcher that is released ends its loads`() async throws {
    serve(1...3, after: [.hold])
    do {
      let prefetcher = ImagePrefetcher(client: ImageClient(transport: cluster), limit: 2)
      prefetcher.start((1...3).map(request))
      #expect(try await eventually { cluster.activeFetchCount == 2 })
    }
    #expect(try await eventually { cluster.activeFetchCount == 0 })
    #expect(cluster.fetchCount(of: request(3).url) == 0)
  }
}
