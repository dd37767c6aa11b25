import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// The store as people see it: `imgctl cache`, and expiry.
@Suite(.timeLimit(.minutes(20))) struct CacheTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster(Cluster.inspectable)
  }

  private func statistics() throws -> JSONValue { try cluster.json("cache", "stat") }

  private func waitForExpiry(of count: Int) throws -> Bool {
    try eventually { try statistics().expired.int == count }
  }

  @Test func `every requested picture counts once, as a hit or as a miss`() throws {
    func requireCounts(hits: Int, misses: Int) throws {
      let statistics = try statistics()
      #expect([statistics.hits.int, statistics.misses.int] == [hits, misses])
    }
    // The first finds no store yet, the second one without it.
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    try requireCounts(hits: 0, misses: 1)
    #expect(try cluster.imgctl("get", origin.url("/p/9")).exitCode == 0)
    try requireCounts(hits: 0, misses: 2)
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    try requireCounts(hits: 1, misses: 2)
    #expect(
      try cluster.imgctl("cache", "stat", "--store-name", "other").messages
        == "no store named other in \(cluster.dataDirectory); there is: thumbnails\n")
    // A viewer's request goes by way of a worker.
    #expect(try cluster.imgctl("get", origin.url("/p/1"), "--viewer", "left").exitCode == 0)
    try requireCounts(hits: 2, misses: 2)
    let status = try cluster.run(origin.pictures(5))
    #expect(status.fromCache == 1)
    try requireCounts(hits: 3, misses: 6)
    let exported = try cluster.imgctl("export", "\(status.job)", cluster.directory.path + "/out")
    #expect(exported.exitCode == 0)
    #expect(try cluster.imgctl("cache", "ls").lines.count == 6)
    try requireCounts(hits: 3, misses: 6)
  }

  @Test func `an expired thumbnail is fetched again, or removed if the picture is lost`() throws {
    let url = origin.url("/p/1")
    for requestCount in 1...2 {
      let got = try cluster.json(
        "get", url, "--expire-after", "1s", "-o", cluster.directory.file("a"))
      #expect(got.from_cache == false)
      #expect(origin.origin.counters("/p/1").requests == requestCount)
      #expect(try statistics().entries == 1)
      try #require(try waitForExpiry(of: 1))
    }
    origin.origin.stop()
    #expect(try cluster.imgctl("get", url).exitCode == 1)
    // The removal is asynchronous.
    #expect(try eventually { try statistics().entries == 0 })
  }

  /// Stores ten pictures that expire at once and one that stays.
  private func storeExpired() throws {
    let list = try cluster.list(origin.pictures(10))
    #expect(try cluster.imgctl("submit", "--wait", "--expire-after", "1ms", list).exitCode == 0)
    #expect(try cluster.run([origin.url("/p/20")]).done == 1)
    try #require(try waitForExpiry(of: 10))
  }

  @Test(arguments: [false, true])
  func `cache clean returns at once, and a worker removes what has expired`(isJSON: Bool) throws {
    try storeExpired()
    if isJSON {
      let result = try cluster.json("cache", "clean")
      #expect([result.expired, result.removed, result.in_background] == [10, 0, true])
    } else {
      let result = try cluster.imgctl("cache", "clean")
      #expect(result.exitCode == 0)
      #expect(result.messages == "removing 10 expired thumbnails in the background\n")
    }
    #expect(try waitForExpiry(of: 0))
    #expect(try statistics().entries == 1)
    #expect(try cluster.imgctl("cache", "clean").messages == "removed 0 expired thumbnails\n")
  }

  @Test func `cache clean --wait returns when no expired thumbnail is left`() throws {
    try storeExpired()
    #expect(
      try cluster.imgctl("cache", "clean", "--wait").messages
        == "removed 10 expired thumbnails\n")
    #expect(try statistics().entries == 1)
  }

  @Test func `without a coordinator, cache clean removes thumbnails and starts none`() throws {
    try storeExpired()
    #expect(try cluster.imgctl("stop").exitCode == 0)
    let result = try cluster.json("cache", "clean")
    #expect([result.expired, result.removed, result.in_background] == [10, 10, false])
    #expect(try statistics().entries == 1)
    #expect(try cluster.imgctl("status").exitCode == 3)
  }

  @Test func `cache get returns stored thumbnails and sends no requests`() throws {
    let url = origin.url("/p/1")
    let path = cluster.directory.file("one.jpg")
    #expect(try cluster.imgctl("get", url, "--size", "32", "-o", path).exitCode == 0)
    let fetched = try Data(contentsOf: URL(filePath: path))
    #expect(try cluster.imgctl("stop").exitCode == 0)

    let copy = cluster.directory.file("copy.jpg")
    #expect(try cluster.imgctl("cache", "get", url, "--size", "32", "-o", copy).exitCode == 0)
    #expect(try Data(contentsOf: URL(filePath: copy)) == fetched)
    let told = try cluster.imgctl("cache", "get", url, "--size", "32", "--json")
    #expect(told.output.contains("\"url\":\"\(url)\""))

    let missing = try cluster.imgctl("cache", "get", url, "-o", copy)
    #expect(missing.exitCode == 1)
    #expect(
      missing.messages
        == "imgctl: \(url) is not stored in this size; imgctl get fetches it\n")
    #expect(missing.output.isEmpty)
    #expect(try Data(contentsOf: URL(filePath: copy)) == fetched)
    #expect(try cluster.imgctl("status").exitCode == 3)
    #expect(origin.origin.counters("/p/1").requests == 1)
  }

  @Test func `cache ls, rm and reset work while a job runs`() throws {
    #expect(try cluster.run(origin.pictures(10)).done == 10)
    origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })

    let listed = try cluster.imgctl("cache", "ls").lines.compactMap { line in
      line.split(separator: "\t").last.map(String.init)
    }
    #expect(listed.sorted() == origin.pictures(10).sorted())
    #expect(try cluster.imgctl("cache", "ls", "--json").lines.count == 10)

    let removed = try cluster.imgctl("cache", "rm", origin.url("/p/1"), origin.url("/p/99"))
    #expect(removed.messages == "removed 1 record\n")
    #expect(try statistics().entries == 9)
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    #expect(origin.origin.counters("/p/1").requests == 2)

    #expect(try cluster.imgctl("cache", "reset").messages == "the store is empty\n")
    #expect(try statistics().entries == 0)
    #expect(try cluster.imgctl("get", origin.url("/p/2")).exitCode == 0)
    #expect(origin.origin.counters("/p/2").requests == 2)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 1)
    #expect(try statistics().entries == 2)
  }

  @Test func `the status of a job counts what is no longer stored, also without a coordinator`()
    throws
  {
    let job = try cluster.run(origin.pictures(3)).job
    #expect(try cluster.json("status", "\(job)").no_longer_stored == 0)
    #expect(try cluster.imgctl("cache", "rm", origin.url("/p/1")).exitCode == 0)
    let sentence =
      "1 of 3 thumbnails is no longer stored; to fetch again what DIR has not: imgctl export \(job) DIR --fetch\n"
    for command in ["status", "wait"] {
      #expect(try cluster.imgctl(command, "\(job)").messages.contains(sentence), "\(command)")
    }
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try cluster.json("status", "\(job)").no_longer_stored == 1)
    #expect(try cluster.imgctl("wait", "\(job)").messages.contains(sentence))
  }

  @Test func `compact shrinks the file during a job, and idle workers close the old file`() throws {
    #expect(try cluster.run(origin.pictures(60)).done == 60)
    origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    #expect(try cluster.begin(["cache", "rm"] + origin.pictures(60)).wait().exitCode == 0)
    let before = try #require(try statistics().file_bytes.int)

    let compact = try cluster.imgctl("cache", "compact")
    #expect(compact.exitCode == 0)
    #expect(compact.messages.hasPrefix("the store's file: "))
    #expect(compact.messages.contains(" → "))
    #expect(try #require(try statistics().file_bytes.int) < before)
    let workers = try cluster.readyWorkers().map(\.processID)
    #expect(workers.count == 2)
    #expect(
      try eventually {
        !workers.contains { openFilePaths(of: $0).contains { $0.hasSuffix(".mdb (deleted)") } }
      })

    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 1)
    #expect(try statistics().entries == 1)
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
  }

  @Test func `a store that is truncated while the cluster runs is recreated and logged`() throws {
    for round in 1...2 {
      #expect(try cluster.run(origin.pictures(5)).done == 5)
      #expect(unsafe truncate(cluster.storeDirectory + "/data.mdb", 8_192) == 0)
      // A reader survives, whether or not the sweep has recreated the store.
      #expect(try cluster.imgctl("status").exitCode == 0)
      // A reader gets nothing from it and requests the picture.
      #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
      let status = try cluster.run(origin.pictures(5))
      #expect(status.done == 5)
      #expect(status.fromCache == 1)
      let log = try cluster.runningCoordinator().messages()
      let notes = log.split(separator: "\n").filter {
        $0.contains(
          " imgworker: the store in \(cluster.storeDirectory) was damaged and is recreated")
      }
      #expect(notes.count == round)
    }
    #expect(try cluster.client().answer(.status).workers.map(\.deaths) == [0, 0])
  }

  // MARK: - Those who ask for pictures

  @Test func `twenty concurrent gets of one picture cost one request and one entry`() throws {
    origin.hold("/held")
    let runs = try (0..<20).map { _ in try cluster.begin(["get", origin.url("/held")]) }
    try #require(try cluster.waitUntil { $0.viewers == 20 && $0.transfers == 1 })
    origin.origin.release("/held")
    let pictures = try runs.map { try $0.wait().outputBytes }
    #expect(Set(pictures).count == 1)
    #expect(pictures.first?.isEmpty == false)
    #expect(origin.origin.counters("/held").requests == 1)
    #expect(try cluster.entryCount() == 1)
  }
}

/// Originals that `--keep auto` keeps.
@Suite(.timeLimit(.minutes(20))) struct KeptOriginalTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster(["KEEP_AUTO_SIZE": "8M"])
  }

  /// An origin forbids to keep the original, or it is too large, or the request is for a list.
  @Test(arguments: [nil, "max-age=60", "no-store", "private", "large", "list"])
  func `another size needs no request while the original is kept where that is cheap`(
    condition: String?
  ) throws {
    let noise = try PictureMaker.start().noise(seed: 1, width: 100, height: 100, format: .png)
    let isLarge = condition == "large"
    let padding = [UInt8](repeating: 0, count: isLarge ? 8 << 20 : 0)
    let headers = condition.map { [Header("Cache-Control", $0)] } ?? []
    origin.origin.serve(
      "/a", .body(noise + padding, contentType: "image/png", headers: headers))
    let (url, isKept) = (origin.url("/a"), condition == nil || condition == "max-age=60")
    if condition == "list" {
      #expect(try cluster.run([url]).done == 1)
    } else {
      #expect(try cluster.imgctl("get", url, "--size", "64").exitCode == 0)
    }
    #expect(try cluster.json("cache", "stat").auto_originals == (isKept ? 1 : 0))
    if isKept {
      #expect(try cluster.imgctl("status").output.contains("originals kept by auto"))
    }
    #expect(try cluster.imgctl("get", url, "--size", "32", "--keep", "thumbnail").exitCode == 0)
    #expect(origin.origin.counters("/a").requests == (isKept ? 1 : 2))
    #expect(try cluster.imgctl("cache", "rm", url).exitCode == 0)
    #expect(try cluster.json("cache", "stat").entries == 0)
    #expect(try cluster.json("cache", "stat").auto_original_bytes == 0)
  }

  @Test func `an original that was kept goes when its picture is loaded again without it`() throws {
    let maker = try PictureMaker.start()
    origin.origin.serve("/a", .body(try maker.card(index: 1)))
    #expect(try cluster.imgctl("get", origin.url("/a"), "--size", "64").exitCode == 0)
    #expect(try cluster.json("cache", "stat").auto_originals == 1)
    origin.origin.serve("/a", .body(try maker.card(index: 2)))
    #expect(
      try cluster.imgctl(
        "get", origin.url("/a"), "--size", "64", "--keep", "thumbnail", "--cache-policy", "reload"
      ).exitCode == 0)
    #expect(try cluster.json("cache", "stat").auto_originals == 0)
  }
}
