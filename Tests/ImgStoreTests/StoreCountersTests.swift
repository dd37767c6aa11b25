import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20)))
struct StoreCountersTests {
  private let directory: TestDirectory
  private let store: ThumbnailStore

  init() throws {
    directory = try TestDirectory()
    store = try ThumbnailStore(directory)
  }

  @Test func `every look-up counts hits and misses for each key`() throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    #expect(try counters.hitRate == nil)
    _ = try store.lookup(ContentKey(picture: 1), at: .now)
    _ = try store.lookup(ContentKey(picture: 2), at: .now)
    _ = try store.lookup([1, 2, 3].map { try ContentKey(picture: $0) }, at: .now)
    _ = try store.bytes(ofPicture: 1)
    _ = try store.bytes(ofPicture: 2)
    // Expired.
    _ = try store.bytes(ofPicture: 1, at: .now(plusSeconds: 60))
    _ = try store.lookup(ContentKey(picture: 1), at: .now(plusSeconds: 60))
    #expect(try counters.hits == 3)
    #expect(try counters.misses == 6)
    #expect(try counters.hitRate == 1.0 / 3)
  }

  @Test(
    arguments: [
      (.hitsAndMisses, 1, 1), (.hits, 1, 0), (.none, 0, 0),
    ] as [(AccessRecording, UInt64, UInt64)])
  func `a read counts as its recordingAccess says`(
    recording: AccessRecording, hits: UInt64, misses: UInt64
  ) throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    for number in [1, 2] {
      let found = try store.withThumbnail(
        ContentKey(picture: number), at: .now, recordingAccess: recording
      ) { facts, _ in facts.url }
      #expect((found != nil) == (number == 1))
    }
    #expect(try counters.hits == hits)
    #expect(try counters.misses == misses)
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
    #expect(try counters == StoreCounters())
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
    let pageCounts = after.summary.occupiedByteCount / 4_096 + Int64(after.freePageCount)
    #expect(pageCounts * 4_096 == Int64(try store.environment.dataFile.pagesByteCount()))
  }

  private var counters: StoreCounters {
    get throws { try #require(try store.statistics(at: .now).counters) }
  }

  private func damage(_ key: ContentKey) throws {
    try store.environment.write { transaction throws(StoreError) in
      try transaction.put([1, 2, 3], for: key.bytes, in: store.tables.thumbnails)
    }
  }
}
