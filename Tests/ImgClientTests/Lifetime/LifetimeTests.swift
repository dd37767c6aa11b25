import ImgClient
import ImgModel
import TestCluster
import TestOrigin
import Testing

/// What is left of loads and clients that have ended.
@Suite(.timeLimit(.minutes(20)))
struct LifetimeTests {
  private static let pictureCount = 20

  @Test(arguments: Backend.allCases)
  func `a thousand loads that are cancelled at random end once each, and leave no fetch`(
    backend: Backend
  ) async throws {
    let backend = try backend.make()
    for number in 0..<Self.pictureCount {
      try backend.serveInParts("held/\(number)")
      try backend.serve("\(number)")
    }
    let urls = (0..<Self.pictureCount).flatMap { ["held/\($0)", "\($0)"] }.map(backend.url)
    let client = ImageClient(transport: try backend.makeTransport(), memoryCache: nil)
    let loads = await RandomCancellations(of: 1_000, among: urls, by: client, seed: 7)
    #expect(loads.ends.count == 1_000)
    #expect(loads.wrong { $0.contains("/held/") } == [])
    #expect(try await eventually { backend.activeFetchCount == 0 })
    try backend.serve("after")
    #expect(try await client.image(for: backend.url("after"), size: 256).width == 256)
    guard let real = backend as? RealBackend else { return }
    #expect(unsafe try real.cluster.client().status().viewers == 0)
  }

  /// Another process makes the loads, so that no other test changes what it has open.
  @Test func `a client that is released leaves no descriptor, no thread and no memory`()
    async throws
  {
    let backend = try RealBackend(Cluster.inspectable)
    for number in 0..<Self.pictureCount { try backend.serveInParts("\(number)") }
    #expect(try await eventually { unsafe try backend.cluster.readyWorkers().count == 2 })
    let (socketPath, dataDirectory) = unsafe (
      backend.cluster.socketPath, backend.cluster.dataDirectory
    )
    let coordinator = unsafe try backend.cluster.runningCoordinator().processID
    let openCount = try #require(openDescriptorCount(of: coordinator))
    await #expect(processExitsWith: .success) {
      [
        socketPath = socketPath as String, dataDirectory = dataDirectory as String,
        baseURL = backend.origin.baseURL as String
      ] in
      let process = ProcessUse()
      let configuration = ClusterConfiguration(
        socketPath: socketPath, dataDirectory: dataDirectory, startsCoordinator: false)
      let urls = (0..<20).map { "\(baseURL)/\($0)" }
      func load(seeds: ClosedRange<UInt64>) async throws {
        for seed in seeds {
          let client = try ImageClient(configuration)
          let loads = await RandomCancellations(of: 1_000, among: urls, by: client, seed: seed)
          #expect(loads.wrong { _ in true } == [])
        }
        #expect(try await eventually { process.sessionThreadCount == 0 })
      }
      try await load(seeds: 1...5)
      let (descriptors, memory) = (process.descriptorCount, process.peakByteCount)
      try await load(seeds: 6...25)
      #expect(try await eventually { process.descriptorCount == descriptors })
      // Loads that left a kilobyte each would leave 20 MB. The allocator keeps some for its threads.
      #expect(process.peakByteCount - memory < 16 << 20)
    }
    #expect(try await eventually { backend.activeFetchCount == 0 })
    #expect(try await eventually { openDescriptorCount(of: coordinator) ?? 0 <= openCount })
    #expect(unsafe try backend.cluster.client().status().viewers == 0)
  }

  @Test func `clients, viewers, prefetchers and clusters end with their last users`() async throws {
    let url = "https://example.org/a"
    weak var cluster: InMemoryCluster?
    weak var client: ImageClient?
    weak var viewer: ImageViewer?
    weak var prefetcher: ImagePrefetcher?
    do {
      let made = InMemoryCluster()
      made.serve(url, .sample, after: [.hold])
      let user = ImageClient(transport: made)
      let (place, ahead) = (ImageViewer(client: user), ImagePrefetcher(client: user))
      (cluster, client, viewer, prefetcher) = (made, user, place, ahead)
      var phases = user.phases(for: url).makeAsyncIterator()
      var shown = place.show(ImageRequest(url: url)).makeAsyncIterator()
      #expect(await phases.next(isolation: nil) == .empty)
      #expect(await shown.next(isolation: nil) == .empty)
      ahead.start(["https://example.org/other"])
      #expect(try await eventually { made.fetchCount(of: url) == 1 })
    }
    #expect(viewer == nil)
    #expect(prefetcher == nil)
    #expect(try await eventually { client == nil && cluster == nil })
  }
}
