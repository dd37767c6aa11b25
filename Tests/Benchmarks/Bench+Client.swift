import CAllocationCount
import ImgClient
import ImgCommands
import ImgModel
import ImgSystem
import ImgWire
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

  func measureClientHits(
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
    let options = RequestOptions(variant: .standard, fetch: FetchOptions(cachePolicy: .cacheOnly))
    var (bare, byTask) = (Samples(), Samples())
    for call in 0..<self.options.scaled(Self.missCount) {
      let url = "http://127.0.0.1:9/missing/\(call)"
      bare.add(
        try Self.microseconds {
          _ = try blocking.answer(.get(GetRequest(url: url, options: options)))
        })
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

/// What a load of the library costs beside what it is built on.
extension Bench {
  private static let countedHitCount = 1_000
  private static let successCount = 2_000

  /// The allocations of a hit. They are counted for a thousand hits at a time, while nothing else runs.
  func measureClientAllocations(
    _ urls: [ImageURL], on cluster: Cluster, into report: inout Report
  ) throws {
    try note("allocations of hits of the library")
    guard let reader = try StoreReader(directory: cluster.storeDirectory) else {
      throw BenchError("no store in \(cluster.storeDirectory)")
    }
    let few = Array(urls.prefix(Self.countedHitCount))
    let names = few.map { PictureName($0) }
    let requests = few.map { ImageRequest(url: $0.text) }
    let client = ImageClient(transport: try transport(of: cluster), memoryCache: nil)
    let remembering = ImageClient(transport: try transport(of: cluster))
    func loads(by client: ImageClient) throws -> Double {
      try Self.load(requests, requests.count, by: client, taskCount: 1)
      return try Self.allocationCount(of: requests.count) {
        try Self.load(requests, requests.count, by: client, taskCount: 1)
      }
    }
    let bare = try Self.allocationCount(of: names.count) {
      for name in names { _ = try reader.thumbnail(for: name, variant: .standard) }
    }
    for (figure, count, call) in [
      ("allocations of a bare map hit", bare, "StoreReader.thumbnail"),
      ("allocations of a hit", try loads(by: client), "ImageClient.image, from the store"),
      ("allocations of a hit in memory", try loads(by: remembering), "ImageClient.image"),
    ] {
      report.add(figure, Samples([count]), "", command: call)
    }
  }

  /// How many allocations each of some calls makes.
  private static func allocationCount(of calls: Int, _ body: () throws -> Void) rethrows -> Double {
    img_start_counting_allocations()
    try body()
    return Double(img_stop_counting_allocations()) / Double(calls)
  }

  /// A stored thumbnail that a worker is asked for: from its success on, a task costs what the coordinator, the
  /// connection, the read of the thumbnail and the task take. Nothing is fetched, so that little else varies.
  func measureClientSuccesses(
    _ urls: [ImageURL], on cluster: Cluster, into report: inout Report
  ) throws {
    try note("successes of workers, told to the library")
    let blocking = try cluster.client()
    guard let reader = try StoreReader(directory: cluster.storeDirectory) else {
      throw BenchError("no store in \(cluster.storeDirectory)")
    }
    let transport = try transport(of: cluster)
    let options = RequestOptions(variant: .standard)
    var (bare, byTask) = (Samples(), Samples())
    for call in 0..<self.options.scaled(Self.successCount) {
      let url = urls[call % urls.count]
      bare.add(
        try Self.microseconds {
          guard
            case .done = try blocking.answer(.get(GetRequest(url: url.text, options: options)))
              .outcome,
            try reader.thumbnail(for: PictureName(url), variant: .standard) != nil
          else { throw BenchError("\(url.text) is not stored") }
        })
      byTask.add(
        try Self.blocking {
          let start = ContinuousClock.now
          _ = try await transport.loadImage(for: ImageRequest(url: url.text), onUpdate: nil)
          return start.duration(to: .now) / .microseconds(1)
        })
    }
    for (share, name) in [(0.5, "median"), (0.99, "99 %")] {
      report.add(
        "success by a blocking call, \(name)", Samples([bare.quantile(share)]), "µs",
        command: "Client.get, StoreReader.thumbnail")
      report.add(
        "success by a task, \(name)", Samples([byTask.quantile(share)]), "µs",
        command: "ClusterTransport.loadImage")
    }
  }
}

/// Loads the URLs that come in on standard input, one a line, by the library, one at a time, and answers each with
/// a line: the microseconds of the load, and the bytes of its thumbnail.
struct LoadProcess {
  static let name = "load-process"
  /// As another program asks for it that shall make the same thumbnails.
  private static let variant = ImageVariant(size: 256, format: .jpeg)

  func run() throws {
    let client = ImageClient(transport: try ClusterTransport(.standard), memoryCache: nil)
    let output = Output(descriptor: 1, capacity: 0)
    while let url = readLine() {
      let (microseconds, byteCount) = try Bench.blocking {
        let start = ContinuousClock.now
        let image = try await client.image(for: ImageRequest(url: url, variant: Self.variant))
        return (start.duration(to: .now) / .microseconds(1), image.bytes.count)
      }
      try output.write("\(microseconds) \(byteCount)\n")
    }
  }
}
