import ImgClient
import ImgDecode
import ImgModel
import ImgStore

/// What is in the store already.
extension Bench {
  private static let callCount = 5_000
  private static let hitCount = 20_000

  /// URLs without an origin.
  func hitURLs() throws -> [ImageURL] {
    try (1...options.scaled(Self.hitCount)).map { number in
      try ImageURL(parsing: "http://127.0.0.1:9/stored/\(number).jpg")
    }
  }

  /// Stores a thumbnail for each URL, as workers would.
  func fillStore(of cluster: Cluster, _ urls: [ImageURL]) throws {
    try note("storing \(urls.count) thumbnails")
    let store = try ThumbnailStore(
      directory: cluster.storeDirectory,
      access: .readWrite(budgetByteCount: Limits().storeBudgetByteCount))
    let rendered = try decoding.example()
    let now = WallTime.now
    let group = 256
    for start in stride(from: 0, to: urls.count, by: group) {
      let thumbnails = urls[start..<min(start + group, urls.count)].map { url in
        NewThumbnail(
          key: ContentKey(PictureName(url), variant: .standard), url: url.text,
          thumbnail: rendered.thumbnail, sourceFormat: rendered.source.format,
          sourceWidth: rendered.source.width, sourceHeight: rendered.source.height,
          sourceByteCount: 100_000,
          retention: Retention(after: Limits().defaultExpiry),
          bytes: rendered.bytes)
      }
      try store.put(thumbnails, at: now)
    }
  }

  func measureHits(
    _ urls: [ImageURL], on cluster: Cluster, into report: inout Report
  ) throws {
    let list = try imgctl.list(named: "hits", urls.map(\.text))
    var rate = Samples()
    for round in 1...options.rounds {
      try note("a list of hits, round \(round) of \(options.rounds)")
      rate.add(Double(urls.count) / (try cluster.run(["submit", "--wait", list]).inSeconds))
    }
    report.add(
      "hits of a list", rate, "/s", command: "imgctl submit --wait LIST (\(urls.count) URLs stored)"
    )
  }

  /// Calls of the client library, each on another stored URL.
  func measureCalls(
    _ urls: [ImageURL], on cluster: Cluster, into report: inout Report
  ) throws {
    try note("calls of the client library")
    let client = try cluster.client()
    guard let reader = try StoreReader(directory: cluster.storeDirectory) else {
      throw BenchError("no store in \(cluster.storeDirectory)")
    }
    let request = RequestOptions(variant: .standard)
    var (asked, read) = (Samples(), Samples())
    for call in 0..<options.scaled(Self.callCount) {
      let url = urls[call % urls.count]
      asked.add(
        try Self.microseconds {
          guard case .done = try client.get(url.text, options: request).outcome else {
            throw BenchError("\(url.text) is not stored")
          }
        })
      read.add(
        try Self.microseconds {
          guard try reader.thumbnail(for: PictureName(url), variant: .standard) != nil else {
            throw BenchError("\(url.text) is not stored")
          }
        })
    }
    for (share, name) in [(0.5, "median"), (0.99, "99 %")] {
      let (askedShare, readShare) = (
        Samples([asked.quantile(share)]), Samples([read.quantile(share)])
      )
      let calls = "of \(asked.values.count) calls"
      report.add("hit by the socket, \(name)", askedShare, "µs", command: "Client.get, \(calls)")
      report.add(
        "hit from the map, \(name)", readShare, "µs", command: "StoreReader.thumbnail, \(calls)")
    }
  }

  static func microseconds(_ body: () throws -> Void) throws -> Double {
    let start = ContinuousClock.now
    try body()
    return start.duration(to: .now) / .microseconds(1)
  }
}
