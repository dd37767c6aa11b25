import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// Which records jobs pin, and that these are not evicted.
@Suite(.timeLimit(.minutes(20))) struct PinTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  private static let budget: Int64 = 4 << 20
  private static let byteCount = 20_000
  /// What a picture of these tests takes: its pages.
  private static let footprint = StoreReport.footprint(ofRecord: Int64(byteCount))
  private static let job = JobID(rawValue: 7)
  private static let other = JobID(rawValue: 9)

  init() throws {
    store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
  }

  @Test func `pinned thumbnails survive any number of others, and go when unpinned`() throws {
    try put(0..<50, pinnedBy: Self.job)
    try put(100..<600)
    #expect(try present(of: 0..<50).count == 50)
    #expect(try present(of: 580..<600).count == 20)
    #expect(try store.size().occupiedByteCount <= Self.budget)
    #expect(try store.report().pinningJobs == [Self.job])

    try store.unpin(try keys(0..<10), for: Self.job)
    try put(600..<1_000)
    #expect(try present(of: 0..<50) == Array(10..<50))
    var cursor = PinCursor()
    while try !store.unpinPart(of: Self.job, at: &cursor) {}
    #expect(try store.statistics(at: .now).pinnedCount == 0)
    try put(1_000..<1_400)
    #expect(try present(of: 0..<50).isEmpty)
    #expect(try store.defects().isEmpty)
  }

  @Test func `a record that a job pins while its pins are removed is unpinned, too`() throws {
    // Small ones, of which the pins are removed in more than one part.
    try put(0..<1, pinnedBy: Self.other, byteCount: 1_000)
    try put(1..<1_000, pinnedBy: Self.job, byteCount: 1_000)
    var cursor = PinCursor()
    try #require(try !store.unpinPart(of: Self.job, at: &cursor))
    let late = try ThumbnailAccess(
      key: ContentKey(picture: 0), retention: Retention(pins: [Self.job]), at: .now)
    #expect(try store.extend([late]).isEmpty)
    while try !store.unpinPart(of: Self.job, at: &cursor) {}
    #expect(try store.report().pinningJobs == [Self.other])
    #expect(try store.defects().isEmpty)
  }

  @Test func `what damaged entries leave in the counts of a job goes with its pins`() throws {
    try put(0..<300, pinnedBy: Self.other, byteCount: 1_000)
    try put(300..<301, pinnedBy: Self.job, byteCount: 1_000)
    var damaged = RecordTotals()
    damaged.recordCount = 9
    try store.environment.write { transaction throws(StoreError) in
      try transaction.put(
        damaged.encodedValue, for: RecordTotals.key(of: Self.job), in: store.tables.pins)
    }
    var cursor = PinCursor()
    while try !store.unpinPart(of: Self.job, at: &cursor) {}
    #expect(try store.report().pinningJobs == [Self.other])
  }

  @Test func `what two jobs pin stays until both have released it, and counts once`() throws {
    try put(0..<2, pinnedBy: Self.job)
    let access = try ThumbnailAccess(
      key: ContentKey(picture: 0), retention: Retention(pins: [Self.other]), at: .now)
    #expect(try store.extend([access, access]).isEmpty)
    try expectPinned(2, by: nil)
    try expectPinned(1, by: Self.other)
    #expect(try store.pinCounts() == [Self.job: 2, Self.other: 1])
    #expect(try store.pinningJobs(of: ContentKey(picture: 0)) == [Self.job, Self.other])
    #expect(try store.pinningJobs(of: ContentKey(picture: 1)) == [Self.job])
    #expect(try store.pinningJobs(of: ContentKey(picture: 2)).isEmpty)
    try store.unpin(try keys(0..<2), for: Self.job)
    try expectPinned(1, by: nil)
    try expectPinned(0, by: Self.job)
    #expect(try store.report().pinningJobs == [Self.other])
    #expect(try store.defects().isEmpty)
  }

  @Test func `a replaced, renewed or extended thumbnail keeps its pins`() throws {
    try put(0..<4, pinnedBy: Self.job)
    try put(0..<1)
    try store.extend([
      ThumbnailAccess(
        key: ContentKey(picture: 1), retention: Retention(until: .now(plusSeconds: 900)), at: .now)
    ])
    try expectPinned(4, by: Self.job)
    _ = try store.remove([ContentKey(picture: 2)])
    _ = try store.removeExpired(at: .now(plusSeconds: 60), limit: 10)
    try expectPinned(1, by: Self.job)
    try expectPinned(1, by: nil)
    #expect(try present(of: 0..<4) == [1])
    #expect(try store.verifiedEntryCounts() == [1])
    #expect(try store.defects().isEmpty)
    try store.reset()
    try expectPinned(0, by: nil)
  }

  @Test func `no more is pinned than nine tenths of the budget, a whole group at once`() throws {
    let limit = Int(StoreReport.pinLimit(of: Self.budget) / Self.footprint)
    try put(0..<limit, pinnedBy: Self.job)
    let group = try [limit, limit + 1].map(pinned)
    let refused = #expect(throws: StoreError.self) { try store.put(group, at: .now) }
    #expect(refused?.reason == .pinned && refused?.isFull == true)
    #expect(try present(of: limit..<limit + 2).isEmpty)
    #expect(refused?.description.hasPrefix("pins use up the budget of the store") == true)
    let ofDisk = StoreError(.pinned, operation: "put", isOfDisk: true).description
    #expect(ofDisk.hasPrefix("the disk of the store is full ("))
    #expect(ofDisk.contains("; free space on it, or imgctl export JOB DIR or imgctl unpin JOB"))
    #expect(try store.report().hasRoomForPins == false)
    // The last tenth serves others, and a hit is not pinned there either.
    try put(1_000..<1_001)
    let access = try ThumbnailAccess(
      key: ContentKey(picture: 1_000), retention: Retention(pins: [Self.other]), at: .now)
    let hit = #expect(throws: StoreError.self) { try store.extend([access]) }
    #expect(hit?.reason == .pinned)
    #expect(try present(of: 1_000..<1_001) == [1_000])
    try expectPinned(limit, by: nil)
  }

  @Test func `what has gone or expired cannot be pinned`() throws {
    try put(0..<1)
    let accesses = try [0, 1].map {
      try ThumbnailAccess(
        key: ContentKey(picture: $0), retention: Retention(pins: [Self.job]),
        at: .now(plusSeconds: $0 == 0 ? 60 : 0))
    }
    #expect(try store.extend(accesses) == Set(keys(0..<2)))
    try expectPinned(0, by: nil)
  }

  // MARK: - Steps

  private func pinned(_ number: Int) throws -> NewThumbnail {
    try NewThumbnail(large: number, byteCount: Self.byteCount, pins: [Self.job])
  }

  private func put(
    _ numbers: Range<Int>, pinnedBy job: JobID? = nil, byteCount: Int = byteCount
  ) throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 20) {
      let group = start..<min(start + 20, numbers.upperBound)
      try store.put(
        group.map {
          try NewThumbnail(large: $0, byteCount: byteCount, pins: [job].compactMap(\.self))
        }, at: .now)
    }
  }

  private func keys(_ numbers: Range<Int>) throws -> [ContentKey] {
    try numbers.map { try ContentKey(picture: $0) }
  }

  private func present(of numbers: Range<Int>) throws -> [Int] {
    try numbers.filter { try store.lookup(ContentKey(picture: $0), at: .now) != .miss }
  }

  private func expectPinned(
    _ count: Int, by job: JobID?, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let totals = try store.environment.read { transaction throws(StoreError) in
      try store.tables.pinTotals(of: job, transaction)
    }
    #expect(totals.recordCount == count, sourceLocation: sourceLocation)
    #expect(totals.byteCount == Int64(count) * Self.footprint, sourceLocation: sourceLocation)
  }
}
