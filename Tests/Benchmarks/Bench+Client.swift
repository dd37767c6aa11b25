import ImgClient
import ImgModel
import ImgSystem
import Synchronization

/// The library, beside what it is built on.
extension Bench {
  private static let readCount = 100_000
  private static let missCount = 2_000

  /// Hits by tasks, beside a loop that reads the map; misses by tasks, and what a worker found, beside calls
  /// that block.
  func measureClient(into report: inout Report) throws {
    let cluster = try start("client")
    let urls = try hitURLs()
    try fillStore(of: cluster, urls)
    try measureClientHits(urls, on: cluster, into: &report)
    try measureClientAllocations(urls, on: cluster, into: &report)
    try measureClientMisses(on: cluster, into: &report)
    try measureClientSuccesses(urls, on: cluster, into: &report)
    try cluster.stop()
  }

  private func measureClientHits(
    _ urls: [ImageURL], on cluster: Cluster, into report: inout Report
  ) throws {
    guard let reader = try StoreReader(directory: cluster.storeDirectory) else {
      throw BenchError("no store in \(cluster.storeDirectory)")
    }
    let names = urls.map { PictureName($0) }
    let requests = urls.map { ImageRequest(url: $0.text) }
    let client = ImageClient(transport: try transport(of: cluster), memoryCache: nil)
    let remembering = ImageClient(transport: try transport(of: cluster))
    let count = options.scaled(Self.readCount)
    var (bare, memory) = (Samples(), Samples())
    var byTasks: [Int: Samples] = [1: Samples(), 8: Samples(), 64: Samples()]
    for round in 1...options.rounds {
      try note("hits of the library, round \(round) of \(options.rounds)")
      bare.add(
        try Self.rate(of: count) {
          for call in 0..<count {
            guard try reader.thumbnail(for: names[call % names.count], variant: .standard) != nil
            else { throw BenchError("a URL is not stored") }
          }
        })
      for taskCount in byTasks.keys.sorted() {
        byTasks[taskCount]?.add(
          try Self.rate(of: count) {
            try Self.load(requests, count, by: client, taskCount: taskCount)
          })
      }
      // The first pass fills the memory; it has room for some thousand images.
      let few = Array(requests.prefix(1_000))
      try Self.load(few, few.count, by: remembering, taskCount: 1)
      memory.add(
        try Self.rate(of: count) { try Self.load(few, count, by: remembering, taskCount: 1) })
    }
    report.add("bare map", bare, "/s", command: "StoreReader.thumbnail, one thread")
    for (taskCount, samples) in byTasks.sorted(by: { $0.key < $1.key }) {
      report.add(
        "hits by \(taskCount) \(taskCount == 1 ? "task" : "tasks")", samples, "/s",
        command: "ImageClient.image, from the store")
    }
    report.add("hits in memory", memory, "/s", command: "ImageClient.image, from memory, one task")
  }

  /// A request that the coordinator answers without a fetch, so that nothing else takes time.
  private func measureClientMisses(on cluster: Cluster, into report: inout Report) throws {
    try note("misses of the library")
    let blocking = try cluster.client()
    let client = ImageClient(transport: try transport(of: cluster), memoryCache: nil)
    let options = RequestOptions(
      variant: .standard, fetch: FetchOptions(cachePolicy: .cacheOnly))
    var (bare, byTask) = (Samples(), Samples())
    for call in 0..<self.options.scaled(Self.missCount) {
      let url = "http://127.0.0.1:9/missing/\(call)"
      bare.add(try Self.microseconds { _ = try blocking.get(url, options: options) })
      byTask.add(
        try Self.blocking {
          var request = ImageRequest(url: url)
          request.cachePolicy = .cacheOnly
          let start = ContinuousClock.now
          _ = try? await client.image(for: request)
          return start.duration(to: .now) / .microseconds(1)
        })
    }
    for (share, name) in [(0.5, "median"), (0.99, "99 %")] {
      report.add(
        "miss by a blocking call, \(name)", Samples([bare.quantile(share)]), "µs",
        command: "Client.get")
      report.add(
        "miss by a task, \(name)", Samples([byTask.quantile(share)]), "µs",
        command: "ImageClient.image")
    }
  }

  func transport(of cluster: Cluster) throws -> ClusterTransport {
    try ClusterTransport(
      ClusterConfiguration(
        socketPath: imgctl.socketPath, dataDirectory: cluster.dataDirectory,
        startsCoordinator: false))
  }

  private static func rate(of count: Int, _ body: () throws -> Void) throws -> Double {
    let start = ContinuousClock.now
    try body()
    return Double(count) / start.duration(to: .now).inSeconds
  }

  static func load(
    _ requests: [ImageRequest], _ count: Int, by client: ImageClient, taskCount: Int
  ) throws {
    try blocking {
      try await withThrowingTaskGroup { group in
        for task in 0..<taskCount {
          group.addTask {
            for call in stride(from: task, to: count, by: taskCount) {
              _ = try await client.image(for: requests[call % requests.count])
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Waits for a task on this thread.
  static func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) throws -> Value {
    let end = TaskEnd<Value>(wakeup: try Wakeup())
    Task {
      let result: Result<Value, any Error>
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      end.result.withLock { $0 = result }
      end.wakeup.signal()
    }
    end.wakeup.waitBlocking()
    guard let result = end.result.withLock({ $0 }) else {
      throw BenchError("a task ended without a result")
    }
    return try result.get()
  }
}

/// The end of a task that a thread waits for.
private final class TaskEnd<Value: Sendable>: Sendable {
  let wakeup: Wakeup
  let result = Mutex<Result<Value, any Error>?>(nil)

  init(wakeup: Wakeup) {
    self.wakeup = wakeup
  }
}
