import FoundationEssentials
import ImgDecode
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `--cache-policy`, row by row, from the command line to the origin's log.
@Suite(.timeLimit(.minutes(20))) struct CachePolicyTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let body: [UInt8]
  private let url: String

  init() throws {
    cluster = try Cluster()
    body = try PictureMaker.start().card(index: 1)
    url = origin.baseURL + "/a"
  }

  private func serve(_ cacheControl: String) {
    let headers = [Header("Cache-Control", cacheControl)]
    origin.serve("/a", .resource(Resource(body, entityTag: "\"1\"", headers: headers)))
  }

  private var requestCount: Int { origin.counters("/a").requests }
  private var bytesSent: Int { origin.counters("/a").bytesSent }

  private func get(_ policy: CachePolicy, _ options: String...) throws -> JSONValue {
    try cluster.json(["get", url, "--cache-policy", policy.rawValue] + options)
  }

  @Test func `protocol: a 304 makes a stale thumbnail fresh without download or decode`() throws {
    serve("max-age=0")
    #expect(try get(.byProtocol).from_cache == false)
    serve("max-age=3600")
    #expect(try get(.byProtocol).from_cache == true)
    #expect(requestCount == 2)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == "\"1\"")
    #expect(bytesSent == body.count)
    // From the map.
    #expect(try get(.byProtocol).from_cache == true)
    #expect(try get(.byProtocol, "--keep", "all").from_cache == false)
    #expect(try get(.byProtocol, "--keep", "all").from_cache == true)
    #expect(requestCount == 3)
  }

  @Test func `protocol: revalidated lines of a list count as from the cache`() throws {
    serve("no-cache")
    let job = try cluster.submit([url], "--cache-policy", "protocol")
    #expect(try cluster.finished(job).fromCache == 0)
    let again = try cluster.finished(cluster.submit([url], "--cache-policy", "protocol"))
    #expect([again.done, again.fromCache, Int(again.fetchedByteCount)] == [1, 1, 0])
    #expect(requestCount == 2)
    #expect(bytesSent == body.count)
  }

  @Test(arguments: [["--decode", "lazy"], ["--keep", "original"], ["--keep", "all"]])
  func `protocol: a job that asks for originals stores a no-store picture, which answers no other`(
    options: [String]
  ) throws {
    serve("no-store")
    let list = try cluster.list([url])
    for requestCount in 1...2 {
      let arguments = ["submit", "--wait", "--cache-policy", "protocol", list] + options
      let submitted = try cluster.begin(arguments).wait()
      #expect(!submitted.messages.contains("stored"), "\(submitted.messages)")
      let directory = cluster.directory.file("out-\(requestCount)")
      #expect(try cluster.imgctl("export", "\(requestCount)", directory).exitCode == 0)
      #expect(self.requestCount == requestCount)
    }
  }

  @Test func `protocol: a no-store thumbnail is told, and an earlier one is not exported`()
    throws
  {
    serve("no-store")
    #expect(try cluster.finished(cluster.submit([url])).done == 1)
    let list = try cluster.list([url])
    let submitted = try cluster.imgctl("submit", "--wait", "--cache-policy", "protocol", list)
    let absence = "not stored (expired, evicted, or the origin sent no-store)"
    #expect(
      submitted.messages.contains(
        "1 of 1 thumbnail is \(absence); to fetch again what DIR has not: imgctl export 2 DIR --fetch\n"
      ),
      "\(submitted.messages)")
    let directory = cluster.directory.file("out")
    let export = try cluster.imgctl("export", "2", directory)
    #expect(export.exitCode == 1)
    #expect(
      export.messages.contains(
        "1 thumbnail \(absence); to fetch it again: imgctl export 2 \(directory) --fetch\n"),
      "\(export.messages)")
    #expect(!FileIO.isFile("\(directory)/0000000.jpg"))
    #expect(try cluster.imgctl("export", "2", directory, "--fetch").exitCode == 0)
    #expect(FileIO.isFile("\(directory)/0000000.jpg"))
  }

  @Test func `reload: a stored picture is fetched and stored again`() throws {
    serve("max-age=3600")
    _ = try get(.byProtocol)
    #expect(try get(.reload).from_cache == false)
    #expect(requestCount == 2)
    #expect(bytesSent == 2 * body.count)
    let job = try cluster.submit([url], "--cache-policy", "reload")
    #expect(try cluster.finished(job).fromCache == 0)
    #expect(requestCount == 3)
    #expect(try get(.byProtocol).from_cache == true)
  }

  @Test func `cache-only: a picture that is not stored fails without a request`() throws {
    serve("max-age=0")
    let missed = try cluster.imgctl("get", url, "--cache-policy", "cache-only")
    #expect(missed.exitCode == 1)
    #expect(missed.messages.hasPrefix("imgctl: \(url): not_cached: "))
    let job = try cluster.submit([url], "--cache-policy", "cache-only")
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "not_cached"])
    #expect(requestCount == 0)
    #expect(try get(.cacheElseLoad, "--keep", "all").from_cache == false)
    #expect(try get(.cacheOnly).from_cache == true)
    #expect(try get(.cacheOnly, "--size", "32").from_cache == true)
    #expect(requestCount == 1)
  }
}

/// Pictures that are not stored still reach the clients that wait for them.
@Suite(.timeLimit(.minutes(20))) struct UncachedTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster(Cluster.inspectable, isStarted: false)
  }

  private func get(_ path: String, _ options: String...) throws -> (
    report: JSONValue, bytes: [UInt8], messages: String
  ) {
    let file = cluster.directory.file("got")
    let result = try cluster.begin(["get", origin.url(path), "--json", "-o", file] + options).wait()
    try #require(result.exitCode == 0, "\(result.messages)")
    let bytes = try FileIO.contents(of: file, upTo: 64 << 20)
    return (try result.decoded(JSONValue.self), bytes, result.messages)
  }

  private func size(of bytes: [UInt8]) throws -> [Int] {
    let raster = try PictureReader(runtime: VipsRuntime.start()).raster(of: bytes)
    return [raster.width, raster.height]
  }

  // MARK: - Without storing

  @Test func `with --no-cache, each get sends a request and stores nothing`() throws {
    try cluster.start()
    #expect(try get("/p/1").report.stored == true)
    for requestCount in 2...4 {
      let (report, bytes, messages) = try get("/p/1", "--no-cache")
      #expect(origin.origin.counters("/p/1").requests == requestCount)
      #expect(try size(of: bytes) == [64, 48])
      #expect(report.bytes.int == bytes.count)
      #expect(report.url.string == origin.url("/p/1"))
      #expect(report.source_width == 64)
      #expect(report.from_cache == false && report.stored == false)
      #expect(report.not_stored_because == .null)
      #expect(messages.isEmpty)
    }
    _ = try get("/p/2", "--no-cache")
    #expect(try cluster.entryCount() == 1)
    #expect(try get("/p/1").report.from_cache == true)
    #expect(try cluster.status().storeError == nil)
  }

  @Test func `two concurrent gets with --no-cache share one fetch and leave no open file`() throws {
    try cluster.start()
    origin.hold("/held")
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
    let (report, bytes, messages) = try get("/noise", "--size", "\(side)", "--format", "png")
    #expect(messages.contains("not stored: the thumbnail is larger than the budget of the store"))
    #expect(bytes.count > 10 << 20)
    #expect(report.bytes.int == bytes.count)
    #expect(report.from_cache == false && report.stored == false)
    #expect(try size(of: bytes) == [side, side])
    #expect(try cluster.entryCount() == 0)
    // Others find room, so that it is no error of the store.
    #expect(try cluster.status().storeError == nil)
  }

  // MARK: - A full disk

  @Test func `with a full disk, get succeeds and lists fail, until there is space`() throws {
    try cluster.start(fileKibibytes: 600)
    // Pictures whose thumbnails take so much room that none fits between others.
    let noise = try PictureMaker.start().noise(seed: 1, width: 500, height: 500)
    for number in 0..<400 { origin.origin.serve("/noise/\(number)", .body(noise)) }
    let stored = try #require(try (0..<20).first { try getNoise($0).report.stored == false })
    #expect(stored > 0)
    for number in 100..<103 {
      let (report, bytes, messages) = try getNoise(number)
      #expect(report.stored == false && report.from_cache == false)
      #expect(report.not_stored_because.string?.contains(cluster.storeDirectory) == true)
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
    #expect(try getNoise(300).report.stored == true)
    #expect(try cluster.status().storeError == nil)
    #expect(try logLines("thumbnails are stored again; 4 were served meanwhile") == 1)
    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 0)
    #expect(try cluster.status().workers.map(\.deaths) == [0, 0])
  }

  private func getNoise(
    _ number: Int
  ) throws -> (report: JSONValue, bytes: [UInt8], messages: String) {
    try get("/noise/\(number)", "--size", "400")
  }

  private func logLines(_ text: String) throws -> Int {
    try cluster.runningCoordinator().messages().split(separator: "\n").count { $0.contains(text) }
  }
}
