import Dispatch
import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import SeededRandom
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
    #expect(unsafe try real.cluster.client().answer(.status).viewers == 0)
  }

  /// Another process makes the loads, so that no other test changes what it has open.
  @Test func `a released client leaves no descriptor, no thread and no memory`() async throws {
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
    #expect(unsafe try backend.cluster.client().answer(.status).viewers == 0)
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

/// Loads that are cancelled at random moments. A seed replays which ones.
struct RandomCancellations {
  /// What each load tells at its end: as many last phases as it had.
  private(set) var ends: [(url: String, ends: [ImagePhase])] = []

  /// Begins loads, cancels some of them while others begin, and at last all.
  ///
  /// - Parameter urls: each load picks one. Half of the loads wait for the image, the others read phases.
  init(of count: Int, among urls: [String], by client: ImageClient, seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    var loads: [(url: String, task: Task<[ImagePhase], Never>)] = []
    for _ in 0..<count {
      let url = urls[Int.random(in: 0..<urls.count, using: &random)]
      let task =
        Bool.random(using: &random)
        ? Task { [await Self.end(of: url, by: client)] }
        : Task { await client.phases(for: url).all.filter(\.isTerminal) }
      loads.append((url, task))
      for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
      loads.randomElement(using: &random)?.task.cancel()
    }
    for load in loads { load.task.cancel() }
    for load in loads { ends.append((load.url, await load.task.value)) }
  }

  private static func end(of url: String, by client: ImageClient) async -> ImagePhase {
    do throws(ImageError) {
      return .success(try await client.image(for: ImageRequest(url: url)))
    } catch {
      return .failure(error)
    }
  }

  /// Loads that did not end exactly once, with an image or as cancelled.
  ///
  /// - Parameter isHeld: whether a picture does not arrive.
  func wrong(_ isHeld: (String) -> Bool) -> [String] {
    ends.compactMap { url, ends in
      let isRight =
        ends.count == 1
        && (ends[0].error?.code == .cancelled || (ends[0].image != nil && !isHeld(url)))
      return isRight ? nil : "\(url): \(ends)"
    }
  }
}

/// A process that can open nothing more.
@Suite(.timeLimit(.minutes(20)))
struct DescriptorShortageTests {
  /// What the process needs to know of the cluster and of its origin.
  private struct Places: Codable {
    let socketPath: String
    let dataDirectory: String
    let baseURL: String

    init(_ backend: RealBackend) {
      socketPath = unsafe backend.cluster.socketPath
      dataDirectory = unsafe backend.cluster.dataDirectory
      baseURL = backend.origin.baseURL
    }

    var configuration: ClusterConfiguration {
      ClusterConfiguration(
        socketPath: socketPath, dataDirectory: dataDirectory, startsCoordinator: false)
    }
  }

  /// Lets this process open nothing more, or so much as before.
  private static func setLimit(_ count: rlim_t?) throws -> rlim_t {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    try #require(unsafe getrlimit(resource, &limit) == 0)
    let before = limit.rlim_cur
    limit.rlim_cur = count ?? 0
    try #require(unsafe setrlimit(resource, &limit) == 0)
    return before
  }

  /// Makes libdispatch start each thread of its pool. While one that it asked for has not begun, it looks once a second
  /// in /proc at the others, and ends a process that has no descriptor for that.
  private static func startAllThreads() async {
    let gates = (0..<ThisProcess.coreCount).map { _ in DispatchSemaphore(value: 0) }
    await withTaskGroup { group in
      for own in gates {
        group.addTask {
          // Blocks its thread until each of the others has one.
          for gate in gates { gate.signal() }
          for _ in gates { own.wait() }
        }
      }
    }
  }

  /// Another process runs out of descriptors, so that no other test does.
  @Test func `loads fail, hits do not, and loads go on when descriptors are there again`()
    async throws
  {
    let backend = try RealBackend()
    for name in ["stored", "a", "b"] { try backend.serve(name) }
    _ = try await backend.makeClient().image(for: backend.url("stored"), size: 256)
    let places = Places(backend)
    await #expect(processExitsWith: .success) { [places = places as Places] in
      let configuration = places.configuration
      let baseURL = places.baseURL
      #expect(try await eventually { ProcessUse().timerCount == ProcessUse.fullTimerCount })
      let client = ImageClient(transport: try ClusterTransport(configuration), memoryCache: nil)
      #expect(try await client.image(for: "\(baseURL)/stored", size: 256).origin == .store)
      await Self.startAllThreads()
      let limit = try Self.setLimit(nil)
      for _ in 1...2 {
        let error = await client.failure(of: ImageRequest(url: "\(baseURL)/a"))
        #expect(error?.code == .disconnected)
        #expect(error?.isRetryable == true)
        #expect(error?.message.contains("open") == true, "\(String(describing: error))")
      }
      #expect(try await client.image(for: "\(baseURL)/stored", size: 256).origin == .store)
      let refused = #expect(throws: ImageError.self) { _ = try ImageClient(configuration) }
      #expect(refused?.code == .internal)
      _ = try Self.setLimit(limit)
      #expect(try await client.image(for: "\(baseURL)/a", size: 256).origin == .network)
      let other = try ImageClient(configuration)
      #expect(try await other.image(for: "\(baseURL)/b", size: 256).origin == .network)
    }
    #expect(backend.fetchCount(of: "a") == 1)
  }

  /// Another process runs out of descriptors, so that no other test does.
  @Test func `a client that began with few descriptors loads when more are there`() async throws {
    let backend = try RealBackend()
    let counts = 0...6
    for count in counts { try backend.serve("\(count)") }
    let places = Places(backend)
    await #expect(processExitsWith: .success) { [places = places as Places] in
      let configuration = places.configuration
      let baseURL = places.baseURL
      #expect(try await eventually { ProcessUse().timerCount == ProcessUse.fullTimerCount })
      var codes: [ImageError.Code?] = []
      for count in 0...6 {
        await Self.startAllThreads()
        let limit = try Self.setLimit(64)
        var taken: [CInt] = []
        while case let copy = dup(0), copy >= 0 { taken.append(copy) }
        for descriptor in taken.suffix(count) { close(descriptor) }
        let client = try? ImageClient(configuration)
        if let client {
          codes.append(await client.failure(of: ImageRequest(url: "\(baseURL)/\(count)"))?.code)
        }
        for descriptor in taken.dropLast(count) { close(descriptor) }
        _ = try Self.setLimit(limit)
        guard let client else { continue }
        #expect(try await client.image(for: "\(baseURL)/\(count)", size: 256).width == 256)
      }
      #expect(codes.contains(.disconnected))
      #expect(codes.contains(nil))
    }
  }
}

/// What this process has open, and how much memory it took.
struct ProcessUse {
  private let processID = ThisProcess.processID

  /// What is open, but for the timers.
  var descriptorCount: Int { openFilePaths(of: processID).count { $0 != Self.timer } }

  /// The timers of tasks. libdispatch opens one for each clock when a task sleeps, and ends a process that has
  /// no descriptors for them.
  var timerCount: Int { openFilePaths(of: processID).count { $0 == Self.timer } }

  /// The clocks of libdispatch.
  static let fullTimerCount = 2
  private static let timer = "anon_inode:[timerfd]"

  /// The most memory that the process had until now.
  var peakByteCount: Int { TestCluster.peakByteCount(of: processID) ?? 0 }

  /// The threads of sessions that have not ended.
  var sessionThreadCount: Int {
    let directory = "/proc/\(processID)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return threads.count { thread in
      // One that ends meanwhile is not counted.
      let name = try? FileIO.contents(of: "\(directory)/\(thread)/comm", upTo: 64)
      return name.map { String(decoding: $0, as: UTF8.self) } == "imgclient\n"
    }
  }
}
