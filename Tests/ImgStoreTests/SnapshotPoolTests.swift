import Dispatch
import ImgModel
import Synchronization
import TestFiles
import Testing

@testable import ImgStore

/// Look-ups on transactions that are kept and renewed.
@Suite(.timeLimit(.minutes(20)))
struct SnapshotPoolTests {
  private let directory: TestDirectory
  private let store: ThumbnailStore

  init() throws {
    directory = try TestDirectory()
    store = try ThumbnailStore(directory)
  }

  @Test func `every look-up sees what was committed before it`() throws {
    for number in 0..<20 {
      #expect(try store.bytes(ofPicture: number) == nil)
      try store.put([NewThumbnail(picture: number)], at: .now)
      #expect(try store.bytes(ofPicture: number) != nil)
    }
    _ = try store.remove([ContentKey(picture: 7)])
    #expect(try store.lookup(ContentKey(picture: 7), at: .now) == .miss)
  }

  @Test func `nested look-ups beyond the pool's slots are answered`() throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    #expect(try depth(ofLookupsUpTo: 2 * SnapshotPool.slotCount) == 2 * SnapshotPool.slotCount)
    #expect(try store.bytes(ofPicture: 1) != nil)
  }

  /// Each look-up inside the one before.
  private func depth(ofLookupsUpTo limit: Int) throws -> Int {
    guard limit > 0 else { return 0 }
    let inner = try store.withThumbnail(ContentKey(picture: 1), at: .now) { _, _ in
      Result { try depth(ofLookupsUpTo: limit - 1) }
    }
    return try #require(inner).get() + 1
  }

  @Test func `failed look-ups free their slots`() throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    for _ in 0...Environment.Options.maximumReaders {
      let error = #expect(throws: StoreError.self) {
        try store.environment.withSnapshot { _ throws(StoreError) in
          throw StoreError(.corrupted, operation: "a test")
        }
      }
      #expect(error?.operation == "a test")
    }
    #expect(try store.bytes(ofPicture: 1) != nil)
  }

  @Test func `a finished look-up pins no pages`() throws {
    let small = try ThumbnailStore(
      directory: directory.path + "/small", access: .readWrite(budgetByteCount: 64 << 20),
      mapByteCount: 1 << 20)
    try small.put([NewThumbnail(picture: 0)], at: .now)
    #expect(try small.bytes(ofPicture: 0) != nil)
    // Several times what the map holds.
    for group in 1..<60 {
      let numbers = group * 10..<group * 10 + 10
      try small.put(numbers.map { try NewThumbnail(large: $0, byteCount: 7_000) }, at: .now)
    }
    #expect(try small.bytes(ofPicture: 599) != nil)
  }

  @Test func `a pooled transaction needs no further reader slot`() throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    #expect(try store.bytes(ofPicture: 1) != nil)
    let slotCount = Int(Environment.Options.maximumReaders)
    try withSnapshots(slotCount - 1) { () throws in
      #expect(try store.bytes(ofPicture: 1) != nil)
      let error = #expect(throws: StoreError.self) { try store.summary() }
      #expect(error?.reason == .tooManyReaders)
    }
    #expect(try store.summary().entryCount == 1)
  }

  /// Runs `body` while so many snapshots exist.
  private func withSnapshots(_ count: Int, _ body: () throws -> Void) throws {
    guard count > 0 else { return try body() }
    let result = try store.environment.read { _ in
      Result { try withSnapshots(count - 1, body) }
    }
    try result.get()
  }

  /// Set by one thread and seen by another.
  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  @Test func `the map does not move during a look-up`() throws {
    try store.put([NewThumbnail(large: 7, byteCount: 400_000)], at: .now)
    let grower = DispatchQueue(label: "grower")
    for _ in 0..<5 {
      let before = try store.statistics(at: .now).mapByteCount
      let isGrowing = Flag()
      let wrongCount = try store.withThumbnail(ContentKey(picture: 7), at: .now) { _, bytes in
        grower.async { [store] in
          isGrowing.isSet.store(true, ordering: .relaxed)
          try? store.environment.growMap(limitByteCount: 1 << 40)
        }
        while !isGrowing.isSet.load(ordering: .relaxed) {}
        return (0..<20_000).count { bytes[$0 * 4_093 % bytes.count] != 7 }
      }
      #expect(wrongCount == 0)
      grower.sync {}
      #expect(try store.statistics(at: .now).mapByteCount == 2 * before)
    }
  }

  @Test func `many threads look up while one writes and the map grows`() throws {
    let numbers = 0..<200
    try store.put(numbers.map { try NewThumbnail(large: $0, byteCount: 3_000) }, at: .now)
    let keys = try numbers.map { try ContentKey(picture: $0) }
    let wrongCount = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 2 * SnapshotPool.slotCount + 1) {
      [store] thread in
      let count = thread == 0 ? Self.change(store) : Self.read(keys, in: store, thread: thread)
      wrongCount.add(count, ordering: .relaxed)
    }
    #expect(wrongCount.load(ordering: .relaxed) == 0)
    #expect(try store.checkReaders() == 0)
  }

  /// - Returns: how many changes failed.
  private static func change(_ store: ThumbnailStore) -> Int {
    (0..<20).count { round in
      do {
        if round < 5 { try store.environment.growMap(limitByteCount: 1 << 40) }
        try store.put([NewThumbnail(large: 1_000 + round, byteCount: 3_000)], at: .now)
        return false
      } catch {
        return true
      }
    }
  }

  /// - Returns: how many look-ups gave something else than was put.
  private static func read(_ keys: [ContentKey], in store: ThumbnailStore, thread: Int) -> Int {
    (0..<500).count { round in
      let number = (thread * 31 + round * 7) % keys.count
      let first = try? store.withThumbnail(keys[number], at: .now) { _, bytes in bytes[0] }
      return first != UInt8(truncatingIfNeeded: number)
    }
  }
}
