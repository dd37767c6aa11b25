import FoundationEssentials
import ImgClient
import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

@testable import ImgStore

/// When thumbnails expire, as people see it, row by row.
@Suite(.timeLimit(.minutes(20))) struct ExpiryTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  private func listed(_ path: String = "/p/1") throws -> JSONValue {
    try #require(try cluster.records().first { $0.url.string == origin.url(path) })
  }

  private func get(_ path: String = "/p/1", _ options: String...) throws {
    #expect(try cluster.begin(["get", origin.url(path)] + options).wait().exitCode == 0)
  }

  private var now: WallTime { .now }

  @Test func `a thumbnail expires after the requested duration or at the requested date`() throws {
    try get("/p/1", "--expire-after", "31556926s")
    #expect(try listed("/p/1").life == .seconds(31_556_926))
    let date = now.advanced(by: .seconds(86_400))
    try get("/p/2", "--expires-at", "\(date)")
    #expect(try listed("/p/2").expires_at.time == date)
    let job = try cluster.submit([origin.url("/p/3")], "--expire-after", "\(date)")
    #expect(try cluster.finished(job).done == 1)
    #expect(try listed("/p/3").expires_at.time == date)
  }

  @Test func `a request can extend the expiry of a stored thumbnail, never shorten it`() throws {
    try get("/p/1", "--expire-after", "1h")
    try get("/p/1", "--expire-after", "2h")
    #expect(try listed().life == .seconds(7_200))
    try get("/p/1", "--expire-after", "1h")
    try get("/p/1")
    #expect(try listed().life == .seconds(7_200))
    let job = try cluster.submit([origin.url("/p/1")], "--expire-after", "3h")
    #expect(try cluster.finished(job).fromCache == 1)
    #expect(try listed().life == .seconds(10_800))
    #expect(origin.origin.totals().requests == 1)
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
  }

  @Test func `a request that extends an expiry is answered after that, others at once`() throws {
    let cluster = try Cluster.inOrder()
    let urls = [1, 2].map { origin.url("/p/\($0)") }
    #expect(try cluster.run(urls).done == 2)
    let asking = try whileStoreIsWritten(in: cluster) {
      let asking = try cluster.begin(["get", urls[0], "--expire-after", "30d"])
      try #require(try cluster.waitUntil { $0.viewers == 1 && !$0.isNothingLookedUp })
      // Asked of the same worker later, and answered before.
      #expect(try cluster.imgctl("get", urls[1], "--viewer", "left").exitCode == 0)
      #expect(asking.isRunning)
      return asking
    }
    #expect(try asking.wait().exitCode == 0)
    let lives = try Set(cluster.records().compactMap(\.life))
    #expect(lives == [.seconds(604_800), .seconds(2_592_000)])
  }

  /// Runs `body` while another process than the cluster's is the one that writes the store.
  private func whileStoreIsWritten<Result>(
    in cluster: Cluster, _ body: () throws -> Result
  ) throws -> Result {
    let store = try openStore(of: cluster)
    return try store.environment.write { _ throws(StoreError) in
      Swift.Result { try body() }
    }.get()
  }

  @Test func `--expire-on-access renews the expiry by its duration or the default one`() throws {
    try get("/p/1", "--expire-on-access")
    #expect(try listed("/p/1").lifetime_ms == 604_800_000)
    try get("/p/2", "--expire-on-access", "--expire-after", "1h")
    #expect(try listed("/p/2").lifetime_ms == 3_600_000)
    #expect(try listed("/p/2").life == .seconds(3_600))
    try get("/p/3")
    try get("/p/3", "--expire-on-access", "--expire-after", "30d")
    #expect(try listed("/p/3").lifetime_ms == 2_592_000_000)
    #expect(try #require(try listed("/p/3").life) >= .seconds(2_592_000))
    #expect(origin.origin.totals().requests == 3)
  }

  private func openStore(of cluster: Cluster) throws -> ThumbnailStore {
    try ThumbnailStore(
      directory: cluster.storeDirectory,
      access: .readWrite(budgetByteCount: Limits().storeBudgetByteCount))
  }

  /// A thumbnail that slides by an hour, stored so long ago.
  private func store(_ path: String, secondsAgo: Int64, in cluster: Cluster) throws {
    let store = try openStore(of: cluster)
    let url = try ImageURL(parsing: origin.url(path))
    let bytes: [UInt8] = [1, 2, 3]
    let hour = Retention(after: .seconds(3_600), sliding: .seconds(3_600))
    try store.put(
      [
        NewThumbnail(
          key: ContentKey(PictureName(url), variant: .standard), url: url.text,
          thumbnail: Thumbnail(format: .jpeg, width: 1, height: 1, byteCount: bytes.count),
          source: SourcePicture(format: .jpeg, width: 1, height: 1, byteCount: 3),
          retention: hour, bytes: bytes)
      ], at: now.advanced(by: .seconds(-secondsAgo)))
  }

  @Test func `a get from the map renews the expiry after a tenth of the duration`() throws {
    #expect(try cluster.imgctl("stop").exitCode == 0)
    try store("/p/1", secondsAgo: 0, in: cluster)
    try get("/p/1")
    #expect(
      !FileManager.default.fileExists(atPath: cluster.socketPath), "no coordinator was started")

    try store("/p/2", secondsAgo: 1_800, in: cluster)
    let began = now
    try get("/p/2")
    let expiry = began.advanced(by: .seconds(3_600))
    #expect(try eventually { try #require(try listed("/p/2").expires_at.time) >= expiry })
    #expect(try #require(try listed("/p/2").life) >= .seconds(5_400))
    #expect(origin.origin.totals().requests == 0)
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
  }
}

extension JSONValue {
  /// How long after it was stored a listed record expires.
  fileprivate var life: Duration? {
    guard let stored = self.stored_at.time, let expiry = self.expires_at.time else { return nil }
    return stored.duration(to: expiry)
  }
}

/// The background sweep removes expired thumbnails.
@Suite(.timeLimit(.minutes(20))) struct SweepTests {
  private static let storeBudgetByteCount: Int64 = 400 << 20

  /// Puts thumbnails into the store that expire at a moment.
  private func put(
    _ numbers: Range<Int>, expiringAt moment: WallTime, into store: ThumbnailStore
  ) throws {
    let thumbnails = try numbers.map { number in
      let url = try ImageURL(parsing: "http://example.org/\(number).jpg")
      return NewThumbnail(
        key: ContentKey(PictureName(url), variant: .standard), url: url.text,
        thumbnail: Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 200),
        source: SourcePicture(format: .jpeg, width: 640, height: 480, byteCount: 10_000),
        retention: Retention(until: moment), bytes: [UInt8](repeating: 7, count: 200))
    }
    try store.put(thumbnails, at: moment.advanced(by: .seconds(-604_800)))
  }

  @Test func `the sweep skips thumbnails that expired within the last minute`() throws {
    let cluster = try Cluster(isStarted: false)
    let now = WallTime.now
    // One that has just expired, and more that follow, however slow all this is.
    let expiries = (0..<10).map { now.advanced(by: .seconds($0 * 30)) }
    do {
      let store = try ThumbnailStore(
        directory: cluster.storeDirectory,
        access: .readWrite(budgetByteCount: Self.storeBudgetByteCount))
      for (number, expiry) in expiries.enumerated() {
        try put(number..<number + 1, expiringAt: expiry, into: store)
      }
      try put(10..<5_000, expiringAt: now.advanced(by: .seconds(-120)), into: store)
    }
    let reader = try #require(try StoreReader(directory: cluster.storeDirectory))
    let occupiedByteCount = try reader.size().occupiedByteCount
    try cluster.start()
    // It answers while the sweep is at work.
    #expect(try cluster.imgctl("status").exitCode == 0)
    #expect(try reader.size().recordCount > 10)
    #expect(try eventually { try reader.size().recordCount <= 10 })
    #expect(try reader.size().occupiedByteCount < occupiedByteCount / 10)
    let entryCount = try reader.size().recordCount
    let aMinuteAgo = WallTime.now.advanced(by: .seconds(-60))
    #expect(entryCount >= expiries.count { $0 > aMinuteAgo })
  }
}

/// What is kept of a picture, row by row.
@Suite(.timeLimit(.minutes(20))) struct KeepOptionTests {
  private let cluster: Cluster
  private let origin = TestOrigin()
  private let body: [UInt8]
  private let url: String

  init() throws {
    cluster = try Cluster()
    body = try PictureMaker.start().card(index: 1, width: 640, height: 480)
    origin.serve("/a", .body(body))
    url = origin.baseURL + "/a"
  }

  private var requestCount: Int { origin.counters("/a").requests }

  @Test func `a job with --keep original stores and exports only originals`() throws {
    let job = try cluster.submit([url], "--keep", "original")
    #expect(try cluster.finished(job).fromCache == 0)
    let kept = try #require(try cluster.records().first)
    #expect([kept.kind, kept.width] == ["original", 640])
    #expect(kept.bytes.int == body.count)
    #expect(try cluster.entryCount() == 1)
    #expect(try cluster.finished(cluster.submit([url], "--keep", "original")).fromCache == 1)
    #expect(
      try cluster.imgctl("cache", "get", url).messages.contains("imgctl get --original gives it"))
    let directory = cluster.directory.file("exported")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    let file = try #require(names.first { $0 != "manifest.jsonl" })
    #expect(FileManager.default.contents(atPath: "\(directory)/\(file)") == Data(body))
    #expect(requestCount == 1)
  }

  @Test func `a lazy job stores originals undecoded, and sizes are made without a request`() throws
  {
    let broken = Array(body.prefix(body.count / 2))
    origin.serve("/a", .resource(Resource(body, delivery: .hold)))
    origin.serve("/broken", .body(broken))
    origin.serve("/page", .body(Array("<!doctype html><html>".utf8)))
    let (brokenURL, page) = (origin.baseURL + "/broken", origin.baseURL + "/page")
    let job = try cluster.submit([url, brokenURL, page], "--decode", "lazy")
    try #require(origin.waitUntil { $0["/a"].inFlight == 1 })
    try cluster.restartAfterCrash()
    origin.release("/a")
    let status = try cluster.finished(job)
    #expect(status.request.keep == .undecodedOriginal)
    #expect([status.done, status.failed] == [2, 1])
    #expect(try cluster.failures(of: job) == [page: "not_an_image"])
    let records = try cluster.records()
    #expect(records.map(\.kind) == ["original", "original"])
    #expect(records.map(\.decode_path) == ["undecoded", "undecoded"])

    let requestCount = origin.totals().requests
    for size in [64, 32] {
      let got = try cluster.json("get", url, "--size", "\(size)", "-o", "/dev/null")
      #expect(got.width.int == size)
      let failed = try cluster.json("get", brokenURL, "--size", "\(size)")
      #expect(failed.code == "corrupt_image")
    }
    #expect(origin.totals().requests == requestCount)
    #expect(try cluster.records().count { $0.kind == "original" } == 2)
    let directory = cluster.directory.file("exported")
    let exported = try cluster.json("export", "\(job)", directory)
    #expect([exported.exported, exported.missing, exported.not_in_store] == [2, 1, 0])
  }
}
