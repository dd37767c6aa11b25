import Dispatch
import Glibc
import ImgModel
import Synchronization
import TestFiles
import Testing

@testable import ImgStore

/// Look-ups on transactions that are kept and renewed.
@Suite(.timeLimit(.minutes(20))) struct SnapshotPoolTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  init() throws {
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
      let error = #expect(throws: StoreError.self) { try store.size() }
      #expect(error?.reason == .tooManyReaders)
    }
    #expect(try store.size().recordCount == 1)
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

@Suite(.timeLimit(.minutes(20))) struct MapLockTests {
  private let lock = MapLock()

  @Test func `the lock returns what the body returns, and throws what it throws`() throws {
    #expect(try lock.shared { 7 } == 7)
    let error = StoreError(.corrupted, operation: "a test")
    #expect(throws: StoreError.self) { try lock.shared { () throws(StoreError) in throw error } }
    #expect(throws: StoreError.self) { try lock.exclusive { () throws(StoreError) in throw error } }
    // A body that threw holds it no more.
    let hasRun = Mutex(false)
    try lock.exclusive { hasRun.withLock { $0 = true } }
    #expect(hasRun.withLock { $0 })
  }

  @Test func `transactions of two threads share it`() throws {
    let lock = lock
    let hasEntered = Atomic(false)
    let mayLeave = Atomic(false)
    let other = DispatchQueue(label: "other transaction")
    other.async {
      try? lock.shared {
        hasEntered.store(true, ordering: .sequentiallyConsistent)
        _ = eventually { mayLeave.load(ordering: .sequentiallyConsistent) }
      }
    }
    #expect(eventually { hasEntered.load(ordering: .sequentiallyConsistent) })
    #expect(try lock.shared { true })
    mayLeave.store(true, ordering: .sequentiallyConsistent)
    other.sync {}
  }

  @Test func `a change of the map excludes transactions, and the other way round`() {
    let lock = lock
    let state = Mutex(Traffic())
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for _ in 0..<500 {
        if thread == 0 {
          try? lock.exclusive { state.withLock { $0.change() } }
        } else {
          try? lock.shared {
            state.withLock { $0.transactionCount += 1 }
            state.withLock { $0.transactionCount -= 1 }
          }
        }
      }
    }
    let traffic = state.withLock { $0 }
    #expect(traffic.transactionCount == 0)
    #expect(traffic.changeCount == 500)
    #expect(traffic.conflictCount == 0)
  }

  /// What threads saw of each other.
  private struct Traffic {
    /// Transactions that run now.
    var transactionCount = 0
    var changeCount = 0
    /// Changes beside a transaction.
    var conflictCount = 0

    mutating func change() {
      changeCount += 1
      if transactionCount != 0 { conflictCount += 1 }
    }
  }
}

/// What other processes do to a store. Each exit test is such a process.
@Suite(.timeLimit(.minutes(20))) struct SeveralProcessesTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  init() throws {
    store = try ThumbnailStore(directory)
  }

  @Test func `thumbnails of another process are found at once`() async throws {
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let store = try ThumbnailStore(directory: path, access: .readWrite(budgetByteCount: 64 << 20))
      try store.put([NewThumbnail(picture: 1)], at: .now)
      // Without closing anything, as if it were killed.
      _exit(0)
    }
    #expect(try store.bytes(ofPicture: 1) == NewThumbnail(picture: 1).bytes)
  }

  @Test func `a process follows a map that another one has grown`() async throws {
    let path = directory.path + "/small"
    let small = try ThumbnailStore(
      directory: path, access: .readWrite(budgetByteCount: 64 << 20), mapByteCount: 1 << 20)
    // So that a transaction of the old size is kept.
    #expect(try small.bytes(ofPicture: 1) == nil)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let store = try ThumbnailStore(
        directory: path, access: .readWrite(budgetByteCount: 64 << 20), mapByteCount: 1 << 26)
      try store.put([NewThumbnail(picture: 1, byteCount: 4 << 20)], at: .now)
    }
    #expect(try small.bytes(ofPicture: 1)?.count == 4 << 20)
    #expect(try small.statistics(at: .now).mapByteCount == 1 << 26)
    try small.put([NewThumbnail(picture: 2)], at: .now)
    #expect(try small.bytes(ofPicture: 2) != nil)
  }

  @Test func `a dead reader is cleared`() async throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let store = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try store.withThumbnail(ContentKey(picture: 1), at: .now) { _, _ in _exit(0) }
    }
    #expect(try store.checkReaders() == 1)
    #expect(try store.checkReaders() == 0)
  }

  @Test func `pages of a dead reader are reused before the map counts as full`() async throws {
    let path = directory.path + "/small"
    let small = try ThumbnailStore(
      directory: path, access: .readWrite(budgetByteCount: 64 << 20), mapByteCount: 1 << 20)
    try small.put([NewThumbnail(picture: 0)], at: .now)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let store = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try store.withThumbnail(ContentKey(picture: 0), at: .now) { _, _ in _exit(0) }
    }
    for group in 0..<80 {
      let numbers = group * 5..<group * 5 + 5
      try small.put(numbers.map { try NewThumbnail(picture: $0, byteCount: 7_000) }, at: .now)
    }
    #expect(try small.bytes(ofPicture: 399) != nil)
    #expect(try small.checkReaders() == 0)
  }

  @Test func `pages of a killed reader are reused by running processes`() async throws {
    let new = try NewThumbnail(large: 1, byteCount: 1 << 20)
    try store.put([new], at: .now)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = store.environment.directory as String] in
      let store = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try store.withThumbnail(ContentKey(picture: 1), at: .now) { _, _ in
        kill(getpid(), SIGKILL)
      }
    }
    for _ in 0..<50 { try store.put([new], at: .now) }
    #expect(try store.environment.dataFile.byteCount() < 10 << 20)
  }

  @Test func `a writer that died in a transaction leaves nothing and blocks nobody`() async throws {
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let store = try ThumbnailStore(directory: path, access: .readWrite(budgetByteCount: 64 << 20))
      let new = try NewThumbnail(picture: 1)
      try store.environment.write { transaction throws(StoreError) in
        var counters = CacheStatistics.Counters()
        try store.tables.put(new, at: .now, transaction, counting: &counters)
        _exit(0)
      }
    }
    #expect(try store.bytes(ofPicture: 1) == nil)
    try store.put([NewThumbnail(picture: 2)], at: .now)
    #expect(try store.bytes(ofPicture: 2) != nil)
  }
}
