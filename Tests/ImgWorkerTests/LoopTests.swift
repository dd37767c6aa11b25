import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import Testing

@testable import ImgStore
@testable import ImgWorker

/// The removal of expired records.
@Suite(.timeLimit(.minutes(20))) struct ExpirySweepTests {
  private let directory = TestDirectory()
  private let store: SharedStore
  private let now = WallTime(rawValue: 1_800_000_000_000)

  init() throws {
    store = try SharedStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: 64 << 20))
  }

  /// Puts thumbnails that expire at `moment`.
  private func put(_ numbers: Range<Int>, expiringAt moment: WallTime) throws {
    let thumbnails = try numbers.map { number in
      let url = try ImageURL(parsing: "https://example.org/\(number).jpg")
      return NewThumbnail(
        key: ContentKey(PictureName(url), variant: .standard), url: url.text,
        thumbnail: Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 100),
        source: SourcePicture(format: .jpeg, width: 640, height: 480, byteCount: 10_000),
        retention: Retention(until: moment), bytes: [UInt8](repeating: 7, count: 100))
    }
    try store.current().put(thumbnails, at: moment.advanced(by: .seconds(-10)))
  }

  /// Removes the next batch as though it were due.
  private static func removeBatch(_ sweep: inout ExpirySweep, from store: SharedStore) {
    if let due = sweep.nextBatch { sweep.removeBatchIfDue(from: store, at: due) }
  }

  private func entryCount() throws -> Int {
    try store.current().size().recordCount
  }

  @Test func `expired records go in batches with pauses, and the others stay`() throws {
    try put(0..<600, expiringAt: now)
    try put(600..<610, expiringAt: now.advanced(by: .milliseconds(1)))
    var sweep = ExpirySweep()
    #expect(sweep.nextBatch == nil)
    sweep.begin(at: now)
    for left in [354, 98] {
      let begin = ContinuousClock.now
      Self.removeBatch(&sweep, from: store)
      #expect(try entryCount() == left)
      let next = try #require(sweep.nextBatch)
      #expect(next - begin >= .milliseconds(200))
    }
    Self.removeBatch(&sweep, from: store)
    #expect(try entryCount() == 10)
    #expect(sweep.nextBatch == nil)
    #expect(try store.current().statistics(at: now).counters?.expiredRemovals == 600)
  }

  @Test func `a sweep that starts while another is under way joins it`() throws {
    try put(0..<300, expiringAt: now)
    let later = now.advanced(by: .seconds(60))
    try put(300..<310, expiringAt: later)
    var sweep = ExpirySweep()
    sweep.begin(at: now)
    Self.removeBatch(&sweep, from: store)
    let due = sweep.nextBatch
    sweep.begin(at: later)
    sweep.begin(at: now)
    #expect(sweep.nextBatch == due)
    Self.removeBatch(&sweep, from: store)
    #expect(try entryCount() == 0)
    #expect(sweep.nextBatch == nil)
  }

  @Test func `a sweep that finds nothing takes no lock`() throws {
    try put(0..<10, expiringAt: now)
    let opened = try store.current()
    // A sweep that waited for the lock here would wait for ever.
    try opened.environment.write { _ in
      var sweep = ExpirySweep()
      sweep.begin(at: now.advanced(by: .milliseconds(-1)))
      Self.removeBatch(&sweep, from: store)
      #expect(sweep.nextBatch == nil)
    }
    #expect(try entryCount() == 10)
  }

  @Test func `two sweeps at the same time share the work`() async throws {
    try put(0..<2_000, expiringAt: now)
    try put(2_000..<2_010, expiringAt: now.advanced(by: .milliseconds(1)))
    await withTaskGroup { group in
      for _ in 0..<2 {
        group.addTask { [store, now] in
          var sweep = ExpirySweep()
          sweep.begin(at: now)
          while sweep.nextBatch != nil { Self.removeBatch(&sweep, from: store) }
        }
      }
    }
    let statistics = try store.current().statistics(at: now)
    #expect(statistics.recordCount == 10)
    #expect(statistics.counters?.expiredRemovals == 2_000)
  }

  @Test func `a batch that is not due yet stays`() throws {
    try put(0..<10, expiringAt: now)
    var sweep = ExpirySweep()
    sweep.begin(at: now)
    let due = try #require(sweep.nextBatch)
    sweep.removeBatchIfDue(from: store, at: due.advanced(by: .milliseconds(-1)))
    #expect(try entryCount() == 10)
    #expect(sweep.nextBatch == due)
  }

  @Test func `the store thread sweeps while there is always something to write`() throws {
    try put(0..<10, expiringAt: now)
    var driver = try StoreDriver(
      store, credits: Credits(lookups: 1, leases: 8, decodeQueueTarget: 1), inbox: Mailbox())
    let other = ContentKey(originalOf: PictureName(text: "https://example.org/other.jpg"))
    driver.write(.sweep(now))
    for _ in 0..<1_000 { driver.write(.removeStale(other)) }
    // What is queued is worked off without a pause.
    driver.finish()
    #expect(try entryCount() == 0)
  }

  @Test func `the store thread sweeps when it is idle, and ends without delay`() throws {
    try put(0..<300, expiringAt: now)
    let credits = Credits(lookups: 1, leases: 8, decodeQueueTarget: 1)
    var driver = try StoreDriver(store, credits: credits, inbox: Mailbox())
    driver.write(.sweep(now))
    let deadline = ContinuousClock.now + .seconds(60)
    while try entryCount() > 0, ContinuousClock.now < deadline {
      ThisProcess.pause(for: .milliseconds(5))
    }
    #expect(try entryCount() == 0)
    // Fifty batches: it would take ten seconds.
    try put(0..<12_800, expiringAt: now)
    driver.write(.sweep(now))
    driver.finish()
    #expect(try entryCount() > 0)
  }
}

/// How long puts wait for others.
@Suite struct GatheredPutsTests {
  private let now = ContinuousClock.now
  private var puts = GatheredPuts()

  private mutating func add(_ lease: UInt64, isUrgent: Bool = false, after delay: Duration = .zero)
  {
    puts.add(
      StorePut(
        lease: LeaseID(rawValue: lease), records: [], longOriginal: nil, accesses: [], thumbnail: []
      ),
      isUrgent: isUrgent, at: now + delay)
  }

  @Test mutating func `a put of a list waits for others, counted from the first`() {
    #expect(!puts.isDue(amongLeases: 0, at: now))
    add(1)
    add(2, after: .milliseconds(3))
    #expect(puts.deadline == now + GatheredPuts.longestWait)
    #expect(!puts.isDue(amongLeases: 3, at: now))
    #expect(puts.isDue(amongLeases: 3, at: now + GatheredPuts.longestWait))
  }

  @Test mutating func `a put that a client waits for takes the others along`() {
    add(1)
    add(2, isUrgent: true)
    add(3)
    #expect(puts.isDue(amongLeases: 9, at: now))
    #expect(puts.take().map(\.lease.rawValue) == [1, 2, 3])
    #expect(puts.deadline == nil)
    #expect(puts.take().isEmpty)
  }

  @Test mutating func `puts do not wait when no other lease could bring one`() {
    add(1)
    #expect(!puts.isDue(amongLeases: 2, at: now))
    #expect(puts.isDue(amongLeases: 1, at: now))
  }

  @Test mutating func `puts do not wait when they fill a transaction`() {
    for lease in 1..<UInt64(StoreWriter.groupMaximum) { add(lease) }
    #expect(!puts.isDue(amongLeases: 1_000, at: now))
    add(1_000)
    #expect(puts.isDue(amongLeases: 1_000, at: now))
  }
}

/// What a worker shows of a loop that libcurl does not return to.
@Suite(.timeLimit(.minutes(20))) struct HungLoopTests {
  private func batch(_ lease: LeaseID, _ url: String) -> Batch {
    Batch(
      ThumbnailRequest(variant: .standard), retention: Retention(), isUrgent: false,
      items: [Assignment(lease: lease, url: url)])
  }

  /// libcurl reads the file of the authorities for each connection, and waits for a pipe.
  @Test func `the heartbeat page names the transfer in which the loop hangs`() throws {
    let origin = TestOrigin()
    let directory = TestDirectory()
    let pipe = try NamedPipe(path: directory.file("authority.pem"))
    let worker = try RunningWorker(authorityFile: pipe.path)
    #expect(worker.heartbeat.transferringLease == nil)
    try worker.send(.fetch(batch(7, "https://127.0.0.1:\(origin.port)/a")))
    do {
      let writer = try pipe.openForWriting()
      #expect(worker.heartbeat.transferringLease == 7)
      // What libcurl opens from now on, it reads to its end.
      try directory.remove("authority.pem")
      _ = try directory.write([], to: "authority.pem")
      _ = consume writer
    }
    let said = try worker.messages(untilEnded: 1)
    #expect(said.outcomes[7]?.failureCode == .tlsFailure)
    try worker.waitUntilHandled()
    #expect(worker.heartbeat.transferringLease == nil)
  }
}
