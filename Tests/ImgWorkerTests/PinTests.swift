import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine
import TestFiles
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// What a worker does with pictures that jobs pin while pinned thumbnails use up the store.
@Suite(.timeLimit(.minutes(20))) struct PinTests {
  private let origin = TestOrigin()
  private let worker: RunningWorker

  private static let full = JobID(rawValue: 1)
  private static let job = JobID(rawValue: 2)

  init() throws {
    var limits = Limits()
    limits.storeBudgetByteCount = 1 << 20
    worker = try RunningWorker(limits: limits)
    serve(.whole)
    let refused = #expect(throws: StoreError.self) {
      for number in 0... {
        let filler = [Self.filler(number)]
        try worker.store.change { store throws(StoreError) in try store.put(filler, at: .now) }
      }
    }
    #expect(refused?.reason == .pinned)
  }

  /// Large ones first, then small ones, until there is no room.
  fileprivate static func filler(_ number: Int) -> NewThumbnail {
    let name = PictureName(text: "http://example.com/\(number)")
    let byteCount = number < 14 ? 60_000 : 1
    return NewThumbnail(
      key: ContentKey(name, ThumbnailRequest(variant: .standard)), url: name.text,
      thumbnail: Thumbnail(format: .jpeg, width: 8, height: 8, byteCount: byteCount),
      source: SourcePicture(format: .jpeg, width: 8, height: 8, byteCount: 0),
      retention: Retention(after: .seconds(60), pins: [full]),
      bytes: [UInt8](repeating: 0, count: byteCount))
  }

  private func serve(_ delivery: BodyDelivery) {
    guard let picture = try? PictureMaker.start().card(index: 1) else { return }
    origin.serve(
      "/a",
      .resource(
        Resource(
          picture, entityTag: "\"1\"", delivery: delivery,
          headers: [Header("Cache-Control", "max-age=0, stale-if-error=600")])))
  }

  private func batch(
    _ lease: LeaseID, _ policy: CachePolicy = .cacheElseLoad, keep: Keep = .thumbnail,
    pins: [JobID] = [job]
  ) -> Batch {
    Batch(
      ThumbnailRequest(variant: .standard, keep: keep, fetch: FetchOptions(cachePolicy: policy)),
      retention: Retention(after: .seconds(60), pins: pins), isUrgent: false,
      items: [Assignment(lease: lease, url: origin.baseURL + "/a")])
  }

  private func fetch(_ batch: Batch) throws -> RunningWorker.Said {
    try worker.send(.fetch(batch))
    return try worker.messages(untilEnded: 1)
  }

  @Test
  func
    `without room, what is fetched, found or confirmed for a job is stored and reported unpinned`()
    throws
  {
    #expect(try fetch(batch(1, keep: .all)).unpinned == [1])
    try worker.send(.lookup(batch(2, pins: [])))
    #expect(try worker.lookupResults().hits.count == 1)
    try worker.send(.lookup(batch(3)))
    #expect(try worker.lookupResults().hits.isEmpty)
    #expect(try worker.messages(untilEnded: 1).unpinned == [3])
    // 304 Not Modified.
    #expect(try fetch(batch(4, .byProtocol)).unpinned == [4])
    #expect(origin.counters("/a").requests == 2)
    // An error, in whose place the origin permits what is stored.
    origin.serve("/a", .status(503))
    #expect(try fetch(batch(5, .byProtocol)).unpinned == [5])
    #expect(worker.store.currentReport().pinningJobs == [Self.full])

    try worker.store.change { store throws(StoreError) in
      var cursor = PinCursor()
      _ = try store.unpinPart(of: Self.full, at: &cursor)
    }
    let served = try fetch(batch(6, .byProtocol)).outcomes[6]
    #expect(served?.width != nil, "\(String(describing: served))")
    serve(.whole)
    try worker.send(.lookup(batch(7, keep: .all)))
    #expect(try worker.lookupResults().hits.count == 1)
    #expect(worker.store.currentReport().pinningJobs == [Self.job])
  }
}

/// Look-ups whose hits are pinned together.
@Suite struct PinnedLookupTests {
  private let directory = TestDirectory()
  private let store: SharedStore
  private let inbox: Mailbox<Input>

  init() throws {
    inbox = try Mailbox()
    store = try SharedStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: 1 << 20))
  }

  /// What each of the thumbnails counts as, see ``StoreReport/footprint(ofRecord:)``.
  private static let footprint: Int64 = 600

  private static func thumbnail(_ number: Int) -> NewThumbnail {
    let name = PictureName(text: "http://example.org/\(number)")
    return NewThumbnail(
      key: ContentKey(name, ThumbnailRequest(variant: .standard)), url: name.text,
      thumbnail: Thumbnail(format: .jpeg, width: 8, height: 8, byteCount: 1),
      source: SourcePicture(format: .jpeg, width: 8, height: 8, byteCount: 0),
      retention: Retention(after: .seconds(60)), bytes: [0])
  }

  /// The look-up that found some thumbnails.
  private static func pin(_ numbers: Range<Int>) -> StoreWrite {
    let retention = Retention(after: .seconds(60), pins: [JobID(rawValue: 2)])
    let hits = numbers.map { number in
      PinnedHit(
        lease: LeaseID(rawValue: UInt64(number)),
        accesses: [
          ThumbnailAccess(
            key: thumbnail(number).key, retention: retention, at: .now, extends: false)
        ])
    }
    let results = LookupResults(
      hits: hits.map { hit in
        LookupResults.Hit(
          lease: hit.lease,
          thumbnail: Thumbnail(format: .jpeg, width: 8, height: 8, byteCount: 1))
      }, stale: [], originals: [], misses: [])
    return .pin(hits, answer: .lookup(results))
  }

  /// Pins what the look-ups of these numbers found, in a store with the first thumbnails.
  private func pin(
    _ lookups: [Range<Int>], amongStored count: Int
  ) throws -> (answers: [LookupResults], unpinned: [LeaseID]) {
    let thumbnails = (0..<count).map(Self.thumbnail)
    try store.change { store throws(StoreError) in try store.put(thumbnails, at: .now) }
    var driver = try StoreDriver(
      store, credits: Credits(lookups: 8, leases: 8, decodeQueueTarget: 1), inbox: inbox)
    driver.queue(lookups.map(Self.pin))
    driver.finish()
    var (answers, unpinned): ([LookupResults], [LeaseID]) = ([], [])
    for input in inbox.takeAll() {
      switch input.event {
      case .lookedUp(let results): answers.append(results)
      case .unpinned(let leases): unpinned += leases
      default: Issue.record("\(input.event)")
      }
    }
    return (answers, unpinned)
  }

  @Test func `each look-up gets its own hits, and those that are gone as misses`()
    throws
  {
    let (answers, unpinned) = try pin([0..<20, 15..<30], amongStored: 25)
    #expect(answers.map(\.hits.count) == [20, 10])
    #expect(answers.map(\.misses) == [[], (25..<30).map { LeaseID(rawValue: $0) }])
    #expect(unpinned.isEmpty)
    #expect(store.currentReport().pinnedByteCount == 25 * Self.footprint)
  }

  @Test func `where there is no room for all of them, many are pinned`() throws {
    let others = (0..<13).map { PinTests.filler($0) }
    try store.change { store throws(StoreError) in try store.put(others, at: .now) }
    let before = store.currentReport().pinnedByteCount
    // There is room for 241.
    #expect((StoreReport.pinLimit(of: 1 << 20) - before) / Self.footprint == 241)
    let (answers, unpinned) = try pin([0..<150, 150..<280], amongStored: 280)
    #expect(answers.map(\.hits.count) == [150, 66])
    #expect(unpinned == (192..<256).map { LeaseID(rawValue: $0) })
    #expect(store.currentReport().pinnedByteCount == before + 216 * Self.footprint)
  }
}
