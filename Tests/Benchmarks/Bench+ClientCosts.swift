import CAllocationCount
import ImgClient
import ImgModel

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
          guard case .done = try blocking.get(url.text, options: options).outcome,
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
