import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// From an assignment to a transfer, or to the decoder.
struct AssignmentTests {
  private var driver = TestDriver()

  @Test mutating func `a look-up is answered with what the store found`() {
    #expect(driver.handle(.received(.lookup(TestDriver.batch([1, 2])))) == ["look up [1, 2]"])
    let results = LookupResults(hits: [], originals: [1], misses: [2])
    #expect(driver.handle(.lookedUp(results)) == ["looked up"])
  }

  @Test mutating func `each fetch starts a transfer of its own`() {
    #expect(driver.fetch([1, 2]) == ["start 1", "start 2"])
  }

  @Test mutating func `a line that names no URL fails without a transfer`() {
    #expect(driver.fetch([1], "mailto:a").isEmpty)
    #expect(driver.attach([2], "mailto:a").isEmpty)
    #expect(driver.endTurn() == ["finished 1 unsupported_scheme, 2 unsupported_scheme"])
  }

  // MARK: - Attaching

  @Test mutating func `a lease attaches to a transfer whose body is on its way`() {
    driver.fetch([1])
    #expect(driver.attach([2]).isEmpty)
    #expect(driver.receiveBody(of: 1) == ["decode 1 from body 1", "decode 2 from body 1"])
    #expect(driver.endTurn() == ["transferred [1, 2]"])
  }

  @Test mutating func `a lease attaches to a body that is held`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    #expect(driver.attach([2]) == ["decode 2 from body 1"])
  }

  @Test mutating func `without a transfer the original in the store is decoded`() {
    #expect(driver.attach([1]) == ["find original 1"])
    #expect(driver.handle(.originalFound(1, true)) == ["decode 1 from original"])
  }

  @Test mutating func `without a transfer and an original the lease is released`() {
    driver.attach([1])
    #expect(driver.handle(.originalFound(1, false)).isEmpty)
    #expect(driver.endTurn() == ["released [1]"])
  }

  // MARK: - Decodes

  @Test(arguments: ["data:,a", "file:///a.jpg"])
  mutating func `a URL that needs no origin is decoded at once`(url: String) {
    #expect(driver.decode([1], url) == ["decode 1 from url"])
  }

  @Test mutating func `a decode needs the original in the store, also beside a transfer`() {
    driver.fetch([1])
    #expect(driver.decode([2, 3]) == ["find original 2", "find original 3"])
    #expect(driver.handle(.originalFound(2, true)) == ["decode 2 from original"])
    #expect(driver.handle(.originalFound(3, false)).isEmpty)
    #expect(driver.endTurn() == ["released [3]"])
  }

  // MARK: - Uploads

  @Test mutating func `an upload is decoded at once`() {
    let upload = Upload(lease: 1, url: nil, request: .sample, retention: Retention(), byteCount: 9)
    #expect(driver.handle(.received(.decodeUpload(upload))) == ["decode 1 from upload of 9"])
    #expect(driver.orders[1]?.isUrgent == true)
    #expect(driver.orders[1]?.request.bypassesStore == true)
  }

  @Test mutating func `an upload for no URL fails`() {
    let upload = Upload(
      lease: 1, url: "a b", request: .sample, retention: Retention(), byteCount: 9)
    #expect(driver.handle(.received(.decodeUpload(upload))).isEmpty)
    #expect(driver.endTurn() == ["finished 1 invalid_url"])
  }

  // MARK: - Other messages

  @Test mutating func `a sweep is passed on`() {
    let moment = WallTime(rawValue: 5)
    #expect(driver.handle(.received(.sweep(expiredAt: moment))) == ["sweep 5"])
  }
}

/// What a cancellation does at each stage of a lease.
struct CancellationTests {
  private var driver = TestDriver()

  @Test mutating func `a transfer is aborted with its last lease`() {
    driver.fetch([1])
    driver.attach([2])
    #expect(driver.cancel([1]).isEmpty)
    #expect(driver.cancel([2]) == ["cancel transfer 1"])
    #expect(driver.endTurn() == ["finished 1 cancelled, 2 cancelled"])
  }

  @Test mutating func `a transfer that waits for a slot is aborted with its last lease`() throws {
    driver.fetch([1])
    let url = try ImageURL(parsing: "http://other.example/a.jpg")
    driver.handle(.redirected(1, url))
    #expect(driver.cancel([1]) == ["cancel transfer 1"])
    #expect(driver.handle(.received(.followRedirects([1]))).isEmpty)
  }

  @Test mutating func `a lease that waits for a robots.txt to attach ends at once`() throws {
    driver.fetch([1])
    #expect(driver.attach([2], TestDriver.url, .obedient) == ["read robots http://example.com"])
    #expect(driver.cancel([2]).isEmpty)
    #expect(driver.endTurn() == ["finished 2 cancelled"])
    let rules = KnownRobots(ClosedPath.none, expiresAt: .distantFuture)
    let url = try ImageURL(parsing: TestDriver.url)
    #expect(driver.handle(.robotsRead(of: url, rules)).isEmpty)
  }

  @Test mutating func `a decode is skipped if it has not begun`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    #expect(driver.cancel([1]) == ["cancel decode 1"])
    #expect(driver.handle(.decoded(1, .cancelled, time: nil)) == ["release body 1"])
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 cancelled"])
  }

  @Test mutating func `a decode that has begun is dropped`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    driver.cancel([1])
    #expect(driver.decode(1) == ["release body 1"])
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 cancelled"])
  }

  @Test mutating func `a lease whose records are being stored is done`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    driver.decode(1)
    #expect(driver.cancel([1]).isEmpty)
    driver.handle(.stored(1, .stored))
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 done"])
  }

  @Test mutating func `a lease that waits for its partial body is cancelled after it`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    driver.fail(1, .unavailable, leftover: .partial)
    #expect(driver.cancel([1]).isEmpty)
    #expect(driver.endTurn().isEmpty)
    #expect(driver.handle(.partialStored(1)) == ["release body 1"])
    #expect(driver.endTurn() == ["finished 1 cancelled"])
  }

  @Test mutating func `a lease that is over is not cancelled`() {
    #expect(driver.cancel([1]).isEmpty)
    #expect(driver.endTurn().isEmpty)
  }
}

private func order(_ lease: LeaseID, _ request: ThumbnailRequest = .sample) throws -> FetchOrder {
  try FetchOrder(
    Assignment(lease: lease, url: TestDriver.url),
    of: TestDriver.batch([lease], TestDriver.url, request), at: .now)
}

/// The leases without a result.
struct FetchTasksTests {
  @Test func `a lease without a task ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var tasks = FetchTasks()
      tasks.update(1) { $0.isCancelled = true }
    }
  }

  @Test func `a lease that is assigned twice ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var driver = TestDriver()
      driver.fetch([1])
      driver.fetch([1])
    }
  }

  @Test func `a result for another stage ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var driver = TestDriver()
      driver.fetch([1])
      driver.decode(1)
    }
  }
}

/// The messages of one turn.
struct WorkerReportTests {
  @Test func `the messages of a turn have a fixed order, hosts first and results last`() {
    var report = WorkerReport()
    #expect(report.isEmpty)
    report.released = [1]
    report.transferred = [2]
    report.redirections = [.init(transfer: 3, host: "b.example", origin: "http://b.example")]
    report.robotsKnown = [4]
    report.finished = [FetchResults.Result(lease: 5, outcome: .cancelled)]
    #expect(!report.isEmpty)
    let effects = report.take(adding: HostUpdates(), decodeQueueCount: 0)
    #expect(
      effects.map(\.summary) == [
        "host updates", "redirected [3]", "transferred [2]", "send uncached", "released [1]",
        "finished 5 cancelled",
      ])
    #expect(report.isEmpty)
  }

  @Test func `many results are sent in parts, each with the length of the decode queue`() {
    var report = WorkerReport()
    report.finished = (1...300).map {
      FetchResults.Result(lease: LeaseID(rawValue: $0), outcome: .cancelled)
    }
    let parts = report.take(adding: HostUpdates(), decodeQueueCount: 7)
      .compactMap { effect -> FetchResults? in
        if case .send(.finished(let results)) = effect { results } else { nil }
      }
    #expect(parts.map(\.results.count) == [256, 44])
    #expect(parts.map(\.decodeQueueCount) == [7, 7])
  }

  @Test func `what the transfers signalled of hosts is told with the machine's own`() {
    var report = WorkerReport()
    report.extraRequests = ["a.example"]
    let cooldown = HostCooldown(
      host: "c.example", origin: "http://c.example", seconds: 5, httpStatus: 503)
    let effects = report.take(
      adding: HostUpdates(cooldowns: [cooldown], extraRequests: ["b.example"]),
      decodeQueueCount: 0)
    guard case .send(.hostUpdates(let updates))? = effects.first else {
      Issue.record("no host updates")
      return
    }
    #expect(updates.cooldowns == [cooldown])
    #expect(updates.extraRequests == ["a.example", "b.example"])
  }
}

/// What is stored of a picture, and what is reported of it.
struct RecordMakerTests {
  private static let now = WallTime(rawValue: 1_800_000_000_000)
  private static let original = CacheRecord(
    id: ContentKey(0, 0, 0, 1), name: "https://a.example/1.png", kind: .original,
    thumbnail: Thumbnail(format: .png, width: 640, height: 480, byteCount: 25),
    source: SourcePicture(format: .png, width: 640, height: 480, byteCount: 99),
    storageTime: now.advanced(by: .seconds(-100)), expiryTime: now.advanced(by: .seconds(20)),
    terms: ReuseTerms(
      freshUntil: .distantFuture, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: .distantPast, fields: ""))

  private func maker(
    _ request: ThumbnailRequest = .sample, body: SourceBody = SourceBody(),
    thumbHash: ThumbHash? = nil, original: CacheRecord? = nil, localByteCount: Int? = nil
  ) throws -> RecordMaker {
    RecordMaker(
      try order(1, request), body: body,
      picture: DecodedPicture(
        thumbnail: DecodedPicture.sample.thumbnail,
        otherThumbnails: [DecodedPicture.sample.thumbnail], source: DecodedPicture.sample.source,
        thumbHash: thumbHash, original: original, localByteCount: localByteCount))
  }

  @Test func `a thumbnail from a stored original does not outlive it for that reason`() throws {
    let record = try maker(original: Self.original).thumbnailRecords(at: Self.now)[0]
    // A minute from the download is over, one from now is longer than the original stays.
    #expect(record.retention.expiresAt(storedAt: Self.now) == Self.original.expiryTime)
    #expect(record.terms == Self.original.terms)
    #expect(record.source.byteCount == 99)
  }

  @Test func `each thumbnail is stored with the ThumbHash, an original without`() throws {
    let hash = try #require(ThumbHash(bytes: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19)))
    let maker = try maker(thumbHash: hash)
    #expect(maker.thumbnailRecords(at: Self.now).map(\.source.thumbHash) == [hash, hash])
    #expect(maker.originalRecord.source.thumbHash == nil)
  }

  @Test func `a confirmed original counts as a download`() throws {
    let body = SourceBody(reuse: AnswerReuse(terms: .none, isStorable: true))
    let record = try maker(body: body, original: Self.original).thumbnailRecords(at: Self.now)[0]
    #expect(record.retention == Retention(after: .seconds(60)))
    #expect(record.terms == .none)
  }

  @Test func `a request for the original reports the original`() throws {
    let request = ThumbnailRequest.sample(keep: .original)
    let fetched = try maker(request, body: .local(byteCount: 7)).outcome(bytesFetched: 3)
    #expect(
      fetched
        == .done(
          Thumbnail(format: .png, width: 640, height: 480, byteCount: 7), fromCache: false,
          bytesFetched: 3))
    let stored = try maker(request, original: Self.original).outcome(bytesFetched: 0)
    #expect(stored == .done(Self.original.thumbnail, fromCache: true, bytesFetched: 0))
  }

  @Test func `a picture that was read from a file has its length`() throws {
    let record = try maker(localByteCount: 12).thumbnailRecords(at: Self.now)[0]
    #expect(record.source.byteCount == 12)
  }
}
