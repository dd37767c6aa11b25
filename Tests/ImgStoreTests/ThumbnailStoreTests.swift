import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20))) struct ThumbnailStoreTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  init() throws {
    store = try ThumbnailStore(directory)
  }

  // MARK: - Look-ups

  @Test func `a stored thumbnail is found with its facts and bytes`() throws {
    let new = try NewThumbnail(picture: 1)
    try store.put([new], at: .now)
    guard case .hit(let facts) = try store.lookup(new.key, at: .now) else {
      Issue.record("no hit")
      return
    }
    #expect(facts.name == new.url)
    #expect(facts.thumbnail == new.thumbnail)
    #expect(facts.storageTime == .now)
    #expect(facts.expiryTime == new.expiresAt)
    #expect(try store.bytes(ofPicture: 1) == new.bytes)
  }

  @Test func `many keys are answered in their order`() throws {
    try store.put([NewThumbnail(picture: 2)], at: .now)
    let keys = try [1, 2, 3].map { try ContentKey(picture: $0) }
    let found = try store.lookup(keys, at: .now)
    #expect(found.count == 3)
    #expect(found.first == .miss)
    #expect(found.last == .miss)
    guard case .hit(let facts) = found[1] else {
      Issue.record("no hit")
      return
    }
    #expect(facts.id == keys[1])
  }

  @Test func `a thumbnail is a hit until the millisecond before it expires`() throws {
    let new = try NewThumbnail(picture: 1)
    try store.put([new], at: .now)
    let last = new.expiresAt.advanced(by: .milliseconds(-1))
    #expect(try store.bytes(ofPicture: 1, at: last) != nil)
    #expect(try store.lookup(new.key, at: new.expiresAt) == .stale(.expired))
    #expect(try store.bytes(ofPicture: 1, at: new.expiresAt) == nil)
  }

  @Test func `a damaged record is stale and never returned`() throws {
    let key = try ContentKey(picture: 1)
    try store.put([NewThumbnail(picture: 1)], at: .now)
    try flipLastByte(of: key)
    #expect(try store.lookup(key, at: .now) == .stale(.corrupt))
    #expect(try store.bytes(ofPicture: 1) == nil)
    #expect(try store.removeStale([key], at: .now) == 1)
    #expect(try store.lookup(key, at: .now) == .miss)
    #expect(try store.statistics(at: .now).byteCount == 0)
  }

  @Test func `removing a record with a damaged expiry also removes its index entry`() throws {
    let key = try ContentKey(picture: 1)
    try store.put([NewThumbnail(picture: 1), NewThumbnail(picture: 2)], at: .now)
    try store.environment.write { transaction throws(StoreError) in
      try transaction.put([1, 2, 3], for: key.bytes, in: store.tables.thumbnails)
    }
    #expect(try store.removeStale([key], at: .now) == 1)
    let statistics = try store.statistics(at: .now)
    #expect(statistics.recordCount == 1)
    #expect(statistics.byteCount == 1_000)
  }

  // MARK: - Replacing

  @Test func `a later put replaces the bytes`() throws {
    try store.put([NewThumbnail(picture: 1, byteCount: 10)], at: .now)
    let newer = try NewThumbnail(picture: 1, byteCount: 20)
    try store.put([newer], at: .now(plusSeconds: 1))
    #expect(try store.bytes(ofPicture: 1) == newer.bytes)
    let statistics = try store.statistics(at: .now)
    #expect(statistics.recordCount == 1)
    #expect(statistics.byteCount == 20)
    #expect(statistics.oldestStorageTime == .now(plusSeconds: 1))
  }

  @Test func `the expiry of a damaged record is not believed`() throws {
    let key = try ContentKey(picture: 1)
    try store.put([NewThumbnail(picture: 1, expiresAt: .now(plusSeconds: 900))], at: .now)
    try flipLastByte(of: key)
    try store.put([NewThumbnail(picture: 1, expiresAt: .now(plusSeconds: 60))], at: .now)
    #expect(try store.lookup(key, at: .now(plusSeconds: 60)) == .stale(.expired))
    #expect(try store.statistics(at: .now).expiredCount == 0)
    #expect(try store.statistics(at: .now(plusSeconds: 60)).expiredCount == 1)
  }

  // MARK: - Removing

  @Test func `a fresh thumbnail stored between a look-up and the removal stays`() throws {
    let key = try ContentKey(picture: 1)
    try store.put([NewThumbnail(picture: 1, expiresAt: .now)], at: .now(plusSeconds: -60))
    #expect(try store.lookup(key, at: .now) == .stale(.expired))
    // Between that look-up and the removal, another process stores a fresh one.
    try store.put([NewThumbnail(picture: 1)], at: .now)
    #expect(try store.removeStale([key], at: .now) == 0)
    #expect(try store.bytes(ofPicture: 1) != nil)
    #expect(try store.removeStale([ContentKey(picture: 2)], at: .now) == 0)
  }

  @Test func `expired thumbnails are removed in the order of their expiry`() throws {
    for number in 1...5 {
      let moment = WallTime.now(plusSeconds: Int64(-number))
      try store.put([NewThumbnail(picture: number, expiresAt: moment)], at: .now)
    }
    try store.put([NewThumbnail(picture: 6)], at: .now)
    #expect(try store.statistics(at: .now).expiredCount == 5)
    #expect(try store.removeExpired(at: .now, limit: 2) == 2)
    #expect(try store.lookup(ContentKey(picture: 5), at: .now) == .miss)
    #expect(try store.lookup(ContentKey(picture: 4), at: .now) == .miss)
    #expect(try store.lookup(ContentKey(picture: 3), at: .now) == .stale(.expired))
    #expect(try store.removeExpired(at: .now, limit: 100) == 3)
    #expect(try store.bytes(ofPicture: 6) != nil)
  }

  @Test func `expired thumbnails that are still stored are counted`() throws {
    #expect(try !store.hasExpired(at: .now))
    #expect(try store.expiredCount(at: .now) == 0)
    for number in 1...5 {
      let moment = WallTime.now(plusSeconds: Int64(number))
      try store.put([NewThumbnail(picture: number, expiresAt: moment)], at: .now)
    }
    #expect(try !store.hasExpired(at: .now))
    #expect(try store.hasExpired(at: .now(plusSeconds: 1)))
    #expect(try store.expiredCount(at: .now(plusSeconds: 3)) == 3)
    #expect(try store.removeExpired(at: .now(plusSeconds: 3), limit: 10) == 3)
    #expect(try !store.hasExpired(at: .now(plusSeconds: 3)))
    #expect(try store.expiredCount(at: .now(plusSeconds: 5)) == 2)
  }

  @Test func `remove returns the number of existing records`() throws {
    try store.put([NewThumbnail(picture: 1), NewThumbnail(picture: 2)], at: .now)
    let keys = try [1, 3].map { try ContentKey(picture: $0) }
    #expect(try store.remove(keys) == 1)
    #expect(try store.bytes(ofPicture: 1) == nil)
    #expect(try store.bytes(ofPicture: 2) != nil)
  }

  @Test func `a reset leaves an empty store that works`() throws {
    try store.put((1...50).map { try NewThumbnail(picture: $0) }, at: .now)
    try store.reset()
    let statistics = try store.statistics(at: .now)
    #expect(statistics.recordCount == 0)
    #expect(statistics.byteCount == 0)
    #expect(statistics.oldestStorageTime == nil)
    try store.put([NewThumbnail(picture: 1)], at: .now)
    #expect(try store.bytes(ofPicture: 1) != nil)
  }

  // MARK: - Lists and numbers

  @Test func `a listing has every thumbnail once, in the order of the keys`() throws {
    // More than one batch of the list.
    let pictures = try (1...600).map { try NewThumbnail(picture: $0, byteCount: 10) }
    try store.put(pictures, at: .now)
    var listed: [ContentKey] = []
    try store.forEach { thumbnail in
      listed.append(thumbnail.id)
      return true
    }
    #expect(listed.map(\.description) == pictures.map(\.key.description).sorted())
  }

  @Test func `a listing ends when its caller stops it`() throws {
    try store.put((1...5).map { try NewThumbnail(picture: $0) }, at: .now)
    var count = 0
    try store.forEach { _ in
      count += 1
      return count < 3
    }
    #expect(count == 3)
  }

  @Test func `statistics are exact`() throws {
    try store.put([NewThumbnail(picture: 1, byteCount: 5_000)], at: .now)
    try store.put(
      [NewThumbnail(picture: 2, byteCount: 700, expiresAt: .now(plusSeconds: 1))],
      at: .now(plusSeconds: -5))
    let statistics = try store.statistics(at: .now(plusSeconds: 1))
    #expect(statistics.recordCount == 2)
    #expect(statistics.expiredCount == 1)
    #expect(statistics.byteCount == 5_700)
    #expect(statistics.oldestStorageTime == .now(plusSeconds: -5))
    #expect(statistics.budgetByteCount == 64 << 20)
    #expect(statistics.mapByteCount == 1 << 30)
    #expect(statistics.freeByteCount == Int64(statistics.freePageCount) * 4_096)
    #expect(statistics.fileByteCount >= statistics.occupiedByteCount)
    let size = try store.size()
    #expect(size.recordCount == 2)
    #expect(size.occupiedByteCount == statistics.occupiedByteCount)
    // Two overflow pages, five tables of one page, the directory, and the two meta pages; the pages
    // freed by the first commits take one more.
    #expect((9...11).contains(statistics.occupiedByteCount / 4_096))
  }

  /// Changes a record behind the store's back.
  private func flipLastByte(of key: ContentKey) throws {
    try store.environment.write { transaction throws(StoreError) in
      let found = try transaction.withValue(of: key.bytes, in: store.tables.thumbnails) {
        $0.copy()
      }
      guard var record = found, let last = record.popLast() else { return }
      record.append(last ^ 1)
      try transaction.put(record, for: key.bytes, in: store.tables.thumbnails)
    }
  }

  @Test func `a thumbnail replaces the record that it names, with its index entries`() throws {
    try store.put([NewThumbnail(picture: 1), NewThumbnail(picture: 2)], at: .now)
    try store.put([NewThumbnail(picture: 3, replaces: 1)], at: .now)
    #expect(try store.bytes(ofPicture: 1) == nil)
    #expect(try store.bytes(ofPicture: 2) != nil)
    #expect(try store.bytes(ofPicture: 3) == [3])
    #expect(try store.defects().isEmpty)
  }

  @Test func `a replaced record may be stored again later in the same group`() throws {
    try store.put([NewThumbnail(picture: 3, replaces: 1), NewThumbnail(picture: 1)], at: .now)
    #expect(try store.bytes(ofPicture: 1) != nil)
    try store.put([NewThumbnail(picture: 1), NewThumbnail(picture: 3, replaces: 1)], at: .now)
    #expect(try store.bytes(ofPicture: 1) == nil)
    #expect(try store.defects().isEmpty)
  }
}

@Suite(.timeLimit(.minutes(20))) struct StoreCountersTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  init() throws {
    store = try ThumbnailStore(directory)
  }

  @Test func `removals are counted by their reason`() throws {
    try store.put([NewThumbnail(picture: 1), NewThumbnail(picture: 2)], at: .now)
    try store.put([NewThumbnail(picture: 3, expiresAt: .now(plusSeconds: 1))], at: .now)
    #expect(try counters.stores == 3)
    #expect(try counters.expiredRemovals == 0)
    _ = try store.removeExpired(at: .now(plusSeconds: 1), limit: 10)
    #expect(try counters.expiredRemovals == 1)
    try store.removeStale([ContentKey(picture: 1)], at: .now(plusSeconds: 60))
    #expect(try counters.expiredRemovals == 2)
    // Replaced because it has expired.
    try store.put([NewThumbnail(picture: 2)], at: .now(plusSeconds: 60))
    #expect(try counters.expiredRemovals == 3)
    try damage(ContentKey(picture: 2))
    try store.removeStale([ContentKey(picture: 2)], at: .now)
    #expect(try counters.damagedRemovals == 1)
    // On request, which no counter counts.
    try store.put([NewThumbnail(picture: 4)], at: .now)
    _ = try store.remove([ContentKey(picture: 4)])
    try store.reset()
    #expect(try counters.stores == 5)
    #expect(try counters.evictions == 0)
    #expect(try counters.hits == 0)
    #expect(try counters.misses == 0)
  }

  @Test func `a change that fails counts nothing`() throws {
    let huge = try NewThumbnail(large: 1, byteCount: 64 << 20)
    #expect(throws: StoreError.self) { try store.put([NewThumbnail(picture: 2), huge], at: .now) }
    #expect(try counters == CacheStatistics.Counters())
  }

  @Test func `every process adds to the same counters`() async throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    _ = try store.bytes(ofPicture: 1)
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let reader = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try reader.bytes(ofPicture: 1)
      _ = try reader.bytes(ofPicture: 2)
      _exit(0)
    }
    #expect(try counters.hits == 2)
    #expect(try counters.misses == 1)
  }

  @Test func `pages that a removal frees are counted as free`() throws {
    try store.put((0..<50).map { try NewThumbnail(picture: $0, byteCount: 7_000) }, at: .now)
    let before = try store.statistics(at: .now)
    _ = try store.remove((0..<50).map { try ContentKey(picture: $0) })
    let after = try store.statistics(at: .now)
    #expect(after.freePageCount >= before.freePageCount + 100)
    #expect(after.fileByteCount >= before.fileByteCount)
    let pageCounts = after.occupiedByteCount / 4_096 + Int64(after.freePageCount)
    #expect(pageCounts * 4_096 == Int64(try store.environment.dataFile.pagesByteCount()))
  }

  private var counters: CacheStatistics.Counters {
    get throws { try #require(try store.statistics(at: .now).counters) }
  }

  private func damage(_ key: ContentKey) throws {
    try store.environment.write { transaction throws(StoreError) in
      try transaction.put([1, 2, 3], for: key.bytes, in: store.tables.thumbnails)
    }
  }
}
