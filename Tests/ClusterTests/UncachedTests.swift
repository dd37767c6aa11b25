import FoundationEssentials
import ImgDecode
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Pictures that are not stored still reach the clients that wait for them.
@Suite(.timeLimit(.minutes(20)))
struct UncachedTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster(Cluster.inspectable, isStarted: false)
    origin = try ListOrigin()
  }

  /// What `get --json` says, as far as it is checked here.
  private struct Report: Decodable {
    let url: String
    let bytes: Int
    let source_width: Int
    let from_cache: Bool
    let stored: Bool
    let not_stored_because: String?
  }

  private func get(_ path: String, _ options: String...) throws -> (
    report: Report, bytes: [UInt8], messages: String
  ) {
    let file = cluster.directory.file("got")
    let result = try cluster.begin(
      ["get", origin.url(path), "--json", "-o", file] + options
    ).wait()
    try #require(result.exitCode == 0, "\(result.messages)")
    let bytes = try FileIO.contents(of: file, upTo: 64 << 20)
    return (try result.decoded(Report.self), bytes, result.messages)
  }

  private func size(of bytes: [UInt8]) throws -> [Int] {
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: bytes)
    return [raster.width, raster.height]
  }

  private func entryCount() throws -> Int {
    struct Statistics: Decodable {
      let entries: Int
    }
    return try cluster.imgctl("cache", "stat", "--json").decoded(Statistics.self).entries
  }

  // MARK: - Without storing

  @Test func `with --no-cache, each get sends a request and stores nothing`() throws {
    try cluster.start()
    #expect(try get("/p/1").report.stored)
    for requestCount in 2...4 {
      let (report, bytes, messages) = try get("/p/1", "--no-cache")
      #expect(origin.origin.counters("/p/1").requests == requestCount)
      #expect(try size(of: bytes) == [64, 48])
      #expect(report.bytes == bytes.count)
      #expect(report.url == origin.url("/p/1"))
      #expect(report.source_width == 64)
      #expect(!report.from_cache && !report.stored && report.not_stored_because == nil)
      #expect(messages.isEmpty)
    }
    _ = try get("/p/2", "--no-cache")
    #expect(try entryCount() == 1)
    #expect(try get("/p/1").report.from_cache)
    #expect(try cluster.status().storeError == nil)
  }

  @Test func `--no-cache writes to standard output and reports failures`() throws {
    try cluster.start()
    let picture = try cluster.imgctl("get", "--no-cache", origin.url("/p/1"))
    #expect(picture.exitCode == 0)
    #expect(try size(of: picture.outputBytes) == [64, 48])
    let missing = try cluster.imgctl("get", "--no-cache", origin.url("/missing/1"))
    #expect(missing.exitCode == 1)
    #expect(missing.messages.contains("/missing/1: http_status: "))
  }

  @Test func `two concurrent gets with --no-cache share one fetch and leave no open file`() throws {
    try cluster.start()
    try origin.hold("/held")
    let arguments = ["get", "--no-cache", origin.url("/held")]
    let runs = [try cluster.begin(arguments), try cluster.begin(arguments)]
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    origin.origin.release("/held")
    let results = try runs.map { try $0.wait() }
    #expect(results.map(\.exitCode) == [0, 0])
    #expect(!results[0].outputBytes.isEmpty)
    #expect(results[0].outputBytes == results[1].outputBytes)
    #expect(origin.origin.counters("/held").requests == 1)
    for number in 0..<20 { _ = try get("/p/\(number)", "--no-cache") }
    let coordinator = try cluster.runningCoordinator().processID
    for processID in [coordinator] + childProcessIDs(of: coordinator) {
      #expect(try eventually { openMemoryFileCount(of: processID) == 0 })
    }
  }

  // MARK: - A thumbnail larger than the budget

  @Test func `a thumbnail larger than the budget is served, and not stored`() throws {
    try cluster.start(["--store-budget", "10M"])
    let side = 2_000
    let noise = try PictureMaker.start().noise(seed: 1, width: side, height: side)
    origin.origin.serve("/noise", .body(noise))
    let options = ["--size", "\(side)", "--format", "png"]
    let file = cluster.directory.file("large.png")
    let result = try cluster.begin(
      ["get", origin.url("/noise"), "--json", "-o", file] + options
    ).wait()
    #expect(result.exitCode == 0)
    #expect(
      result.messages.contains("not stored: the thumbnail is larger than the budget of the store"))
    let report = try result.decoded(Report.self)
    #expect(report.bytes > 10 << 20)
    #expect(!report.from_cache && !report.stored)
    let bytes = try FileIO.contents(of: file, upTo: 64 << 20)
    #expect(bytes.count == report.bytes)
    #expect(try size(of: bytes) == [side, side])
    #expect(try entryCount() == 0)
    // Others find room, so that it is no error of the store.
    #expect(try cluster.status().storeError == nil)
  }

  // MARK: - A full disk

  @Test func `with a full disk, get succeeds and lists fail, until there is space`()
    throws
  {
    try cluster.start(fileKibibytes: 600)
    try serveNoise()
    let stored = try fillStore()
    #expect(stored > 0)
    for number in 100..<103 {
      let (report, bytes, messages) = try getNoise(number)
      #expect(!report.stored && !report.from_cache)
      #expect(report.not_stored_because?.contains(cluster.storeDirectory) == true)
      #expect(try size(of: bytes) == [400, 400])
      #expect(messages.contains("not stored: the store in \(cluster.storeDirectory) is full"))
    }

    let error = try #require(try cluster.status().storeError)
    #expect(error.servedCount == 4)
    #expect(error.reason.contains("is full"))
    let shown = try cluster.imgctl("status").output
    #expect(shown.contains("; 4 thumbnails served but not stored in the last "))
    #expect(try logLines("thumbnails cannot be stored: ") == 1)

    let job = try cluster.submit([origin.url("/noise/200")], "--size", "400")
    let failed = try cluster.finished(job)
    #expect([failed.failed, failed.retryable] == [1, 1])
    #expect(try cluster.failures(of: job) == [origin.url("/noise/200"): "store_full"])

    try cluster.liftFileLimit()
    #expect(try getNoise(300).report.stored)
    #expect(try cluster.status().storeError == nil)
    #expect(try logLines("thumbnails are stored again; 4 were served meanwhile") == 1)
    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 0)
    #expect(try cluster.status().workers.map(\.deaths) == [0, 0])
  }

  @Test func `a line and a viewer of one picture end independently`() throws {
    try cluster.start(fileKibibytes: 600)
    try serveNoise()
    _ = try fillStore()
    let noise = try PictureMaker.start().noise(seed: 2, width: 500, height: 500)
    origin.origin.serve("/held", .body(noise, delivery: .hold))
    let job = try cluster.submit([origin.url("/held")], "--size", "400")
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    // It comes when the fetch has been assigned.
    let viewer = try cluster.begin(["get", origin.url("/held"), "--size", "400"])
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    origin.origin.release("/held")
    let got = try viewer.wait()
    #expect(got.exitCode == 0)
    #expect(try size(of: got.outputBytes) == [400, 400])
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job).values.sorted() == ["store_full"])
    #expect(origin.origin.counters("/held").requests == 1)
  }

  /// Pictures whose thumbnails take so much room that none fits between others.
  private func serveNoise() throws {
    let noise = try PictureMaker.start().noise(seed: 1, width: 500, height: 500)
    for number in 0..<400 { origin.origin.serve("/noise/\(number)", .body(noise)) }
  }

  private func getNoise(
    _ number: Int
  ) throws -> (report: Report, bytes: [UInt8], messages: String) {
    try get("/noise/\(number)", "--size", "400")
  }

  /// Asks for pictures until one is not stored.
  ///
  /// - Returns: how many were.
  private func fillStore() throws -> Int {
    try #require(try (0..<20).first { try !getNoise($0).report.stored })
  }

  private func logLines(_ text: String) throws -> Int {
    try cluster.runningCoordinator().messages().split(separator: "\n").count { $0.contains(text) }
  }
}
