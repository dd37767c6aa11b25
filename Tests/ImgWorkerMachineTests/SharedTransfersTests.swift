import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// Which lease is attached to which transfer, and what becomes of transfers and bodies.
struct SharedTransfersTests {
  private static let key = TransferKey(name: PictureName(text: TestDriver.url), part: .whole)
  private static let other = TransferKey(name: PictureName(text: "other"), part: .whole)
  private static let body = SharedTransfer.Body(
    facts: .sample, freshByteCount: 30, timings: Timings(), wasRedirected: false)

  private var transfers = SharedTransfers()

  private mutating func start(_ lease: LeaseID, _ request: ThumbnailRequest = .sample) throws {
    let order = try FetchOrder(
      Assignment(lease: lease, url: TestDriver.url),
      of: TestDriver.batch([lease], TestDriver.url, request), at: .now)
    #expect(transfers.start(order) == TransferID(startedBy: lease))
  }

  // MARK: - Shares

  @Test mutating func `every lease of a transfer gets a share of its one body`() throws {
    try start(1)
    #expect(transfers.attach(2, key: Self.key).isReceiving)
    #expect(transfers.attach(3, key: Self.key).isReceiving)
    let shares = transfers.receive(Self.body, by: 1)
    #expect(shares.map(\.lease) == [1, 2, 3])
    #expect(shares.map(\.bytesFetched) == [30, 0, 0])
  }

  @Test mutating func `the first of the leases that stay counts the bytes`() throws {
    try start(1)
    _ = transfers.attach(2, key: Self.key)
    #expect(transfers.leave(1) == nil)
    #expect(transfers.receive(Self.body, by: 1).map(\.bytesFetched) == [30])
  }

  @Test(arguments: [(false, true), (true, false)])
  mutating func `a body behind a redirect is unchecked unless its transfer respects robots`(
    respectsRobots: Bool, isUnchecked: Bool
  ) throws {
    try start(1, .sample(respectsRobots: respectsRobots))
    let body = SharedTransfer.Body(
      facts: .sample, freshByteCount: 30, timings: Timings(), wasRedirected: true)
    #expect(transfers.receive(body, by: 1).map(\.isUnchecked) == [isUnchecked])
  }

  // MARK: - Attaching

  @Test mutating func `a lease without a transfer of its name attaches to none`() throws {
    try start(1)
    #expect(transfers.attach(2, key: Self.other).isNone)
    #expect(!transfers.hasTransfer(for: Self.other))
  }

  @Test mutating func `a lease that needs another part of the picture attaches to none`() throws {
    try start(1, .sample(keep: .facts))
    #expect(transfers.attach(2, key: Self.key).isNone)
    let facts = TransferKey(name: PictureName(text: TestDriver.url), part: .facts)
    #expect(transfers.attach(3, key: facts).isReceiving)
  }

  @Test mutating func `a lease attaches to the newest transfer of its name`() throws {
    try start(1)
    try start(2)
    #expect(transfers.attach(3, key: Self.key).isReceiving)
    #expect(transfers.receive(Self.body, by: 1).map(\.lease) == [1])
    #expect(transfers.receive(Self.body, by: 2).map(\.lease) == [2, 3])
  }

  @Test mutating func `a lease attaches to an older transfer once the newest is over`() throws {
    try start(1)
    try start(2)
    #expect(transfers.end(2) == [2])
    #expect(transfers.attach(3, key: Self.key).isReceiving)
    #expect(transfers.receive(Self.body, by: 1).map(\.lease) == [1, 3])
  }

  // MARK: - The end of a body

  @Test mutating func `each of two transfers of a name frees its own body`() throws {
    try start(1)
    try start(2)
    _ = transfers.receive(Self.body, by: 1)
    _ = transfers.receive(Self.body, by: 2)
    #expect(transfers.detach(1) == 1)
    #expect(transfers.attach(3, key: Self.key).share != nil)
    #expect(transfers.detach(2) == nil)
    #expect(transfers.detach(3) == 2)
  }

  // MARK: - Slots

  @Test mutating func `a redirect that waits for a slot is taken once`() throws {
    try start(1)
    let url = try ImageURL(parsing: "http://b.example/")
    #expect(transfers.takeSlotWait(1, at: .now) == nil)
    transfers.update(1) {
      $0.waitForSlot(SharedTransfer.SlotWait(url: url, since: .now))
    }
    #expect(transfers.takeSlotWait(1, at: .now)?.url == url)
    #expect(transfers.takeSlotWait(1, at: .now) == nil)
    #expect(transfers.takeSlotWait(9, at: .now) == nil)
  }
}

extension SharedTransfers.AttachResult {
  fileprivate var isReceiving: Bool {
    if case .receiving = self { true } else { false }
  }

  fileprivate var isNone: Bool {
    if case .none = self { true } else { false }
  }

  fileprivate var share: SharedTransfer.Share? {
    if case .received(let share) = self { share } else { nil }
  }
}

/// From the end of a transfer to the decoder, or to a failure.
struct TransferEndTests {
  private var driver = TestDriver()

  // MARK: - Bodies

  @Test mutating func `the first lease of a transfer reports the bytes of its body`() {
    driver.fetch([1])
    driver.attach([2, 3])
    driver.cancel([1])
    driver.receiveBody(of: 1)
    for lease in [2, 3] as [LeaseID] {
      driver.decode(lease)
      driver.handle(.stored(lease, .stored))
    }
    _ = driver.endTurn()
    #expect(driver.results[2]?.outcome.bytesFetched == 30)
    #expect(driver.results[3]?.outcome.bytesFetched == 0)
  }

  @Test mutating func `a body is released once, after the last decode`() {
    driver.fetch([1])
    driver.attach([2])
    driver.receiveBody(of: 1)
    #expect(driver.decode(1) == ["put 1 [thumbnail]"])
    driver.attach([3])
    #expect(driver.decode(2) == ["put 2 [thumbnail]"])
    #expect(driver.decode(3) == ["release body 1", "put 3 [thumbnail]"])
  }

  @Test mutating func `a body that comes in after its transfer was aborted is released`() {
    driver.fetch([1])
    driver.cancel([1])
    #expect(driver.receiveBody(of: 1) == ["release body 1"])
  }

  @Test mutating func `a body whose origin opts out fails for leases that respect it`() {
    let request = ThumbnailRequest.sample(respectsOptOut: true)
    driver.fetch([1])
    driver.attach([2], TestDriver.url, request)
    let facts = BodyFacts(
      byteCount: 1, receivedByteCount: 1, reuse: BodyFacts.sample.reuse, optOut: .optedOut)
    #expect(driver.receiveBody(of: 1, facts) == ["decode 1 from body 1"])
    #expect(driver.endTurn() == ["transferred [1, 2]", "finished 2 opted_out"])
  }

  @Test mutating func `a body behind an unchecked redirect releases leases that respect robots`()
    throws
  {
    driver.fetch([1])
    driver.attach([2], TestDriver.url, .obedient)
    driver.handle(
      .robotsRead(
        of: try ImageURL(parsing: TestDriver.url),
        KnownRobots(ClosedPath.none, expiresAt: .distantFuture)))
    #expect(driver.receiveBody(of: 1, wasRedirected: true) == ["decode 1 from body 1"])
    #expect(driver.endTurn() == ["transferred [1, 2]", "released [2]"])
  }

  @Test mutating func `a body removes a partial body that is obsolete`() {
    driver.fetch([1])
    #expect(
      driver.receiveBody(of: 1, leftover: .obsolete)
        == ["remove partial \(TestDriver.url)", "decode 1 from body 1"])
  }

  // MARK: - Failures

  @Test mutating func `a failure reaches every lease, and the first counts the bytes`() {
    driver.fetch([1])
    driver.attach([2])
    #expect(driver.fail(1, wasRedirected: true).isEmpty)
    #expect(driver.endTurn() == ["finished 1 truncated_body, 2 truncated_body"])
    #expect(driver.results[1]?.outcome.bytesFetched == 20)
    #expect(driver.results[2]?.outcome.bytesFetched == 0)
    #expect(driver.results[2]?.wasRedirected == true)
    #expect(driver.attach([3]) == ["find original 3"], "no lease attaches to a failed transfer")
  }

  @Test mutating func `an opt-out fails the leases that respect it and releases the others`() {
    driver.fetch([1], TestDriver.url, .sample(respectsOptOut: true))
    driver.attach([2])
    driver.fail(1, .optedOut)
    #expect(driver.endTurn() == ["released [2]", "finished 1 opted_out"])
  }

  @Test mutating func `a transfer that is deferred releases its leases`() {
    driver.fetch([1])
    driver.attach([2])
    driver.handle(.transferEnded(1, TransferEnd(.deferred)))
    #expect(driver.endTurn() == ["released [1, 2]"])
  }

  // MARK: - Partial bodies

  @Test mutating func `a partial body is stored before the failure is reported`() {
    driver.fetch([1])
    driver.attach([2])
    #expect(driver.fail(1, leftover: .partial) == ["store partial 1"])
    #expect(driver.endTurn().isEmpty)
    #expect(driver.handle(.partialStored(1)) == ["release body 1"])
    #expect(driver.endTurn() == ["finished 1 truncated_body, 2 truncated_body"])
  }

  @Test mutating func `a partial body that may not be stored is released`() throws {
    let requests: [ThumbnailRequest] = [
      .sample(keep: .none), .sample(bypassesStore: true),
      .sample(cacheKey: try CacheKey("key")),
    ]
    for (number, request) in zip(1..., requests) {
      let lease = LeaseID(rawValue: UInt64(number))
      driver.fetch([lease], TestDriver.url, request)
      let effects = driver.fail(TransferID(startedBy: lease), leftover: .partial)
      #expect(effects == ["release body \(number)"])
      #expect(driver.endTurn() == ["finished \(number) truncated_body"])
    }
  }

  @Test mutating func `an obsolete partial body is removed`() {
    driver.fetch([1])
    #expect(driver.fail(1, leftover: .obsolete) == ["remove partial \(TestDriver.url)"])
    #expect(driver.endTurn() == ["finished 1 truncated_body"])
  }

  // MARK: - Stale thumbnails

  @Test mutating func `a stale thumbnail is served if the origin fails`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    #expect(driver.fail(1, .unavailable) == ["find stale 1"])
    driver.handle(.staleFound(1, DecodedPicture.sample.thumbnail))
    #expect(driver.endTurn() == ["finished 1 cached"])
    #expect(driver.results[1]?.failureBehind == .unavailable)
  }

  @Test mutating func `without a stale thumbnail the failure is reported`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    driver.fail(1, .unavailable)
    driver.handle(.staleFound(1, nil))
    #expect(driver.endTurn() == ["finished 1 http_status"])
    #expect(driver.results[1]?.failureBehind == nil)
  }

  @Test(arguments: [
    (ThumbnailRequest.sample, Failure.unavailable), (.byProtocol, .missing),
    (.sample(policy: .byProtocol, bypassesStore: true), .unavailable),
  ])
  mutating func `nothing stale is looked for if it may not be served`(
    request: ThumbnailRequest, failure: Failure
  ) {
    driver.fetch([1], TestDriver.url, request)
    #expect(driver.fail(1, failure).isEmpty)
    #expect(driver.endTurn() == ["finished 1 \(failure.code.rawValue)"])
  }

  // MARK: - 304 Not Modified

  private mutating func notModified(_ transfer: TransferID) -> [String] {
    driver.handle(.transferEnded(transfer, TransferEnd(.notModified)))
  }

  @Test mutating func `a 304 renews the records of each lease`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    driver.attach([2], TestDriver.url, .byProtocol)
    #expect(notModified(1) == ["renew 1", "renew 2"])
    driver.handle(.renewalFound(1, .thumbnail(DecodedPicture.sample.thumbnail)))
    driver.handle(.renewalFound(2, .unmatched))
    #expect(driver.endTurn() == ["transferred [1, 2]", "released [2]"])
    driver.handle(.stored(1, .stored))
    #expect(driver.endTurn() == ["finished 1 cached"])
    #expect(driver.results[1]?.timings == nil)
  }

  @Test mutating func `a record that is gone before its renewal releases its lease`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    _ = notModified(1)
    driver.handle(.renewalFound(1, .thumbnail(DecodedPicture.sample.thumbnail)))
    driver.handle(.stored(1, .missing))
    #expect(driver.endTurn() == ["transferred [1]", "released [1]"])
  }

  @Test mutating func `a thumbnail is made from an original that is renewed, on its new terms`() {
    driver.fetch([1], TestDriver.url, .byProtocol)
    _ = notModified(1)
    let terms = ReuseTerms(
      freshUntil: WallTime(rawValue: 9), staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: .distantPast, fields: "ETag: \"1\"")
    #expect(driver.handle(.renewalFound(1, .original(terms))) == ["decode 1 from original"])
    driver.decode(1)
    #expect(driver.storeRequests[1]?.records.first?.terms == terms)
  }
}

extension Outcome {
  fileprivate var bytesFetched: Int? {
    switch self {
    case .done(_, _, let byteCount), .failed(_, let byteCount): byteCount
    case .cancelled: nil
    }
  }
}

@Suite struct TransferPaceTests {
  private func measure(_ byteCount: Int, held heldTime: Duration = .zero) -> TransferMeasure {
    TransferMeasure(receivedByteCount: byteCount, isHeldUp: false, heldTime: heldTime)
  }

  @Test func `a transfer is slow while little arrives, unless the limits of bandwidth hold it`() {
    let begin = Instant.now
    var pace = TransferPace(from: begin)
    func update(_ measure: TransferMeasure, at time: Duration) -> Bool {
      _ = pace.update(measure, at: begin + time)
      return pace.isSlow
    }
    #expect(!update(measure(10, held: .milliseconds(100)), at: .seconds(5)))
    #expect(!update(measure(10, held: .milliseconds(101)), at: .seconds(9)))
    #expect(update(measure(10, held: .milliseconds(101)), at: .seconds(10)))
    #expect(!update(measure(11, held: .milliseconds(200)), at: .seconds(11)))
  }

  @Test func `what a slow transfer is at is told, until it receives`() {
    let begin = Instant.now
    var pace = TransferPace(from: begin)
    func phase(_ phase: TransferPhase, _ byteCount: Int, at time: Duration) -> TransferPhase? {
      let measure = TransferMeasure(receivedByteCount: byteCount, isHeldUp: false, phase: phase)
      _ = pace.update(measure, at: begin + time)
      return pace.takePhase(measure)
    }
    #expect(phase(.resolving, 0, at: .milliseconds(100)) == nil, "it is not slow yet")
    #expect(phase(.resolving, 0, at: .seconds(1)) == .resolving)
    #expect(phase(.resolving, 0, at: .seconds(2)) == nil)
    #expect(phase(.awaitingAnswer, 0, at: .seconds(3)) == .awaitingAnswer)
    #expect(phase(.receiving, 1_000_000, at: .seconds(4)) == .receiving)
  }

  @Test func `the time for which a transfer was held is told in parts, and each part once`() {
    var pace = TransferPace(from: .now)
    #expect(pace.takeHeldTime(measure(0, held: .milliseconds(499))) == nil)
    #expect(pace.takeHeldTime(measure(0, held: .milliseconds(700))) == .milliseconds(700))
    #expect(pace.takeHeldTime(measure(0, held: .milliseconds(900))) == nil)
    #expect(pace.takeHeldTime(measure(0, held: .seconds(2))) == .milliseconds(1_300))
  }
}

/// Transfers that time out while something comes from other hosts, or nothing does.
@Suite struct ArrivalTests {
  private var driver = TestDriver()

  private static let timeout = Failure(stage: .fetch, code: .timeout, detail: "nothing came")

  /// - Returns: what the failure of a transfer says of the network.
  private mutating func sign(
    of id: UInt64, after failure: Failure = timeout, _ sign: NetworkSign? = nil,
    byteCount: Int = 0
  ) -> NetworkSign? {
    let end = TransferEnd(.failed(failure), freshByteCount: byteCount, sign: sign)
    driver.handle(.transferEnded(TransferID(rawValue: id), end))
    _ = driver.endTurn()
    return driver.results[LeaseID(rawValue: id)]?.sign
  }

  /// Transfers whose hosts were connected to.
  private mutating func begin() {
    for id in 1...4 {
      driver.fetch([LeaseID(rawValue: UInt64(id))], "http://h\(id).test/a.jpg")
      measure(UInt64(id), byteCount: 0, .awaitingAnswer)
    }
  }

  private mutating func measure(_ id: UInt64, byteCount: Int, _ phase: TransferPhase) {
    let measure = TransferMeasure(receivedByteCount: byteCount, isHeldUp: false, phase: phase)
    driver.handle(.measured([TransferID(rawValue: id): measure]))
  }

  @Test mutating func `a transfer that times out while nothing comes from any host says so`() {
    begin()
    driver.advance(by: .seconds(3))
    #expect(sign(of: 1) == .noData)
    #expect(sign(of: 2, after: .broken) == nil, "it has not timed out")
  }

  @Test mutating func `not while bytes of another one come`() {
    begin()
    driver.advance(by: .seconds(3))
    measure(2, byteCount: 10, .receiving)
    driver.advance(by: .seconds(9))
    #expect(sign(of: 1) == nil)
    measure(2, byteCount: 10, .receiving)
    driver.advance(by: .seconds(1))
    #expect(sign(of: 3) == .noData, "none has come for a while")
    #expect(sign(of: 2, byteCount: 10) == .noData)
  }

  @Test mutating func `not after the body of another one`() {
    begin()
    driver.advance(by: .seconds(1))
    driver.receiveBody(of: 2)
    #expect(sign(of: 1) == nil)
    #expect(sign(of: 3, byteCount: 10) == nil)
  }

  @Test
  mutating func `a connection that stays silent says so although another host can be connected to`()
  {
    begin()
    measure(2, byteCount: 0, .connecting)
    measure(3, byteCount: 0, .connecting)
    driver.advance(by: .seconds(3))
    #expect(sign(of: 1, .answered) == .noData)
    #expect(sign(of: 2, .answered) == .answered)
    #expect(sign(of: 3) == nil, "it was not connected to")
    #expect(sign(of: 4, .silent) == .silent)
  }
}
