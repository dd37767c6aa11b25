import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// The file by itself; `SecondChanceTests` has its effect on eviction.
@Suite(.timeLimit(.minutes(20))) struct AccessBitsTests {
  private let directory = TestDirectory()

  private func open(budgetByteCount: Int64) throws -> AccessBits {
    try #require(
      AccessBits.openOrCreate(directory: directory.path, budgetByteCount: budgetByteCount))
  }

  @Test(
    arguments: [
      (1, 1 << 16), (64 << 20, 1 << 16), (64 << 20 + 1024, 1 << 17), (400 << 20, 1 << 19),
      (1 << 40, 1 << 30), (.max, 1 << 30),
    ] as [(Int64, Int)])
  func `each KiB of the budget has a slot, within bounds`(budgetByteCount: Int64, slotCount: Int) {
    #expect(AccessBits.slotCount(budgetByteCount: budgetByteCount) == slotCount)
  }

  @Test func `an access bit stays set until it is cleared`() throws {
    let bits = try open(budgetByteCount: 1)
    let (key, other) = (try ContentKey(picture: 1), try ContentKey(picture: 2))
    #expect(!bits.isSet(for: key))
    bits.set(for: key)
    #expect(bits.isSet(for: key))
    #expect(!bits.isSet(for: other))
    bits.clear(for: other)
    #expect(bits.isSet(for: key))
    bits.clear(for: key)
    #expect(!bits.isSet(for: key))
  }

  /// A store full of thumbnails of two pages each, with every nth one accessed.
  @Test(arguments: [(5, 50), (1, 12)])
  func `few accessed records lose their bit, and hardly any other record gets one`(
    nth: Int, mostOneIn: Int
  ) throws {
    let budget: Int64 = 64 << 20
    let bits = try open(budgetByteCount: budget)
    let keys = try (0..<Int(budget) / 8_192).map { try ContentKey(picture: $0) }
    for (number, key) in keys.enumerated() where number % nth == 0 { bits.set(for: key) }
    var (readCount, lostCount, falseCount) = (0, 0, 0)
    for (number, key) in keys.enumerated() {
      if number % nth == 0 {
        readCount += 1
        if !bits.isSet(for: key) { lostCount += 1 }
      } else if bits.isSet(for: key) {
        falseCount += 1
      }
    }
    #expect(lostCount * mostOneIn < readCount)
    #expect(falseCount * 500 < keys.count)
  }

  @Test func `a process continues with a larger file that replaced its own`() throws {
    let holder = try open(budgetByteCount: 1)
    let key = try ContentKey(picture: 1)
    var counters = CacheStatistics.Counters()
    counters.hits = 3
    holder.add(counters)
    let larger = try open(budgetByteCount: 1 << 30)
    #expect(larger.slotCount == 1 << 20)
    #expect(larger.counters == counters)
    let largest = try open(budgetByteCount: 1 << 31)
    holder.set(for: key)
    holder.add(counters)
    #expect(largest.isSet(for: key))
    #expect(largest.counters.hits == 6)
    #expect(holder.counters == largest.counters)
    #expect(AccessBits(directory: directory.path)?.slotCount == largest.slotCount)
  }

  @Test func `a smaller budget keeps the file`() throws {
    let holder = try open(budgetByteCount: 1 << 30)
    let key = try ContentKey(picture: 1)
    holder.set(for: key)
    let smaller = try open(budgetByteCount: 1)
    #expect(smaller.slotCount == holder.slotCount)
    #expect(smaller.isSet(for: key))
  }
}

/// What each read records; `SecondChanceTests` has the effect of access bits on eviction.
@Suite(.timeLimit(.minutes(20))) struct AccessRecorderTests {
  private let directory = TestDirectory()
  private let bits: AccessBits
  private let recorder: AccessRecorder

  init() throws {
    bits = try #require(AccessBits.openOrCreate(directory: directory.path, budgetByteCount: 1))
    recorder = AccessRecorder(bits)
  }

  private func counted() -> [UInt64] { [bits.counters.hits, bits.counters.misses] }

  @Test(
    arguments: [
      (.hitsAndMisses, true, [1, 0]), (.hitsAndMisses, false, [0, 1]), (.hits, true, [1, 0]),
      (.hits, false, [0, 0]), (.none, true, [0, 0]), (.none, false, [0, 0]),
    ] as [(AccessRecording, Bool, [UInt64])])
  func `a read counts as its recording says, and sets the bit of a counted hit`(
    recording: AccessRecording, isHit: Bool, counts: [UInt64]
  ) throws {
    let key = try ContentKey(picture: 1)
    recorder.record(key, isHit: isHit, recording)
    #expect(counted() == counts)
    #expect(bits.isSet(for: key) == (counts[0] == 1))
  }

  @Test func `look-ups set the bits of their hits, and count everything else as a miss`() throws {
    let keys = try (1...3).map { try ContentKey(picture: $0) }
    let found = CacheRecord(
      id: keys[1], name: "https://example.org/2.jpg", kind: .thumbnail,
      thumbnail: Thumbnail(format: .jpeg, width: 4, height: 3, byteCount: 9),
      source: SourcePicture(format: .png, width: 40, height: 30, byteCount: 900),
      storageTime: .now, expiryTime: .now(plusSeconds: 60))
    recorder.record(keys, [.miss, .hit(found), .stale(.expired)])
    #expect(counted() == [1, 2])
    #expect(keys.map { bits.isSet(for: $0) } == [false, true, false])
  }
}

/// Which thumbnails a full store keeps: those that were read.
@Suite(.timeLimit(.minutes(20))) struct SecondChanceTests {
  private let directory = TestDirectory()
  private var path: String { directory.path + "/store" }

  @Test func `accessed thumbnails survive others`() throws {
    let store = try fullStore()
    for number in 0..<20 { _ = try store.bytes(ofPicture: number) }
    let batch = try (20..<30).map { try ContentKey(picture: $0) }
    _ = try store.lookup(batch, at: .now)
    _ = try store.lookup(ContentKey(picture: 30), at: .now)
    try overflow(store)
    let kept = try kept(in: store, of: 0..<Self.count)
    #expect(kept.prefix(31) == ArraySlice(0..<31))
    #expect(!kept.contains(31))
  }

  @Test func `a second chance is given once`() throws {
    let store = try fullStore()
    _ = try store.lookup(ContentKey(picture: 0), at: .now)
    try overflow(store)
    #expect(try kept(in: store, of: 0..<1) == [0])
    // It moves to the end of the order and is not accessed before the hand meets it again.
    for group in 2..<8 { try store.put(pictures(group * 100..<group * 100 + 40), at: .now) }
    #expect(try lacks(0, in: store))
  }

  @Test func `a store with only accessed thumbnails keeps to its budget`() throws {
    let store = try fullStore()
    for number in 0..<Self.count { _ = try store.lookup(ContentKey(picture: number), at: .now) }
    try overflow(store)
    #expect(try store.size().occupiedByteCount <= Self.budget)
    #expect(try kept(in: store, of: 1_000..<1_040).count == 40)
    #expect(try store.verifiedEntryCounts() == [try store.size().recordCount])
  }

  @Test func `an access in another process counts, also in one that only reads`() async throws {
    let store = try fullStore()
    await #expect(processExitsWith: .success) { [path = path as String] in
      let reader = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try reader.withThumbnail(ContentKey(picture: 0), at: .now) { _, _ in }
      _exit(0)
    }
    try overflow(store)
    #expect(try kept(in: store, of: 0..<2) == [0])
  }

  @Test func `a failed put clears no access bits and evicts nothing`() throws {
    let store = try fullStore()
    for number in 0..<20 { _ = try store.bytes(ofPicture: number) }
    let before = try store.statistics(at: .now).counters
    // Each fits into the budget, but not all at once.
    let group = try (1_000..<1_040).map { try NewThumbnail(large: $0, byteCount: 30_000) }
    let error = #expect(throws: StoreError.self) { try store.put(group, at: .now) }
    #expect(error?.isFull == true)
    #expect(try store.statistics(at: .now).counters == before)
    #expect(try kept(in: store, of: 0..<Self.count).count == Self.count)
    try overflow(store)
    #expect(try kept(in: store, of: 0..<21) == Array(0..<20))
  }

  // MARK: - The file

  @Test(.enabled(if: geteuid() != 0, "root may write anywhere"))
  func `a reader without write permission for the access bits still answers`() throws {
    do { try ThumbnailStore(directory).put(pictures(0..<1), at: .now) }
    #expect(unsafe chmod(path + "/access", 0o400) == 0)
    try expectSilentReader()
  }

  @Test(arguments: [nil, 0, 4_096, usesByteCount - 1, usesByteCount + 1])
  func `a reader without access bits of the right size still answers`(byteCount: Int?) throws {
    do { try ThumbnailStore(directory).put(pictures(0..<1), at: .now) }
    try damageUses(byteCount: byteCount)
    try expectSilentReader()
  }

  @Test(arguments: [nil, 0, 4_096, usesByteCount - 1, usesByteCount + 1])
  func `a writer recreates access bits of the wrong size`(byteCount: Int?) throws {
    do { try ThumbnailStore(directory).put(pictures(0..<1), at: .now) }
    try damageUses(byteCount: byteCount)
    let store = try ThumbnailStore(directory)
    #expect(try store.bytes(ofPicture: 0) != nil)
    #expect(try store.statistics(at: .now).counters?.hits == 1)
    let reader = try #require(AccessBits(directory: path))
    #expect(reader.counters.hits == 1)
  }

  @Test func `access bits of another layout are recreated`() throws {
    do { _ = try ThumbnailStore(directory) }
    let file = unsafe open(path + "/access", O_RDWR)
    #expect(unsafe pwrite(file, [9], 1, 8) == 1)
    close(file)
    #expect(AccessBits(directory: path) == nil)
    let store = try ThumbnailStore(directory)
    #expect(store.accessBits != nil)
  }

  /// A header of a page, and the fewest slots.
  private static let usesByteCount = 4_096 + AccessBits.minimumSlotCount

  private func damageUses(byteCount: Int?) throws {
    if let byteCount {
      #expect(unsafe truncate(path + "/access", byteCount) == 0)
    } else {
      #expect(unsafe unlink(path + "/access") == 0)
    }
  }

  private func expectSilentReader() throws {
    let reader = try ThumbnailStore(directory: path, access: .readOnly)
    #expect(try reader.bytes(ofPicture: 0) != nil)
    #expect(try reader.lookup(ContentKey(picture: 1), at: .now) == .miss)
    #expect(try reader.statistics(at: .now).counters == nil)
  }

  // MARK: - Samples

  private static let budget: Int64 = 1 << 20
  /// As many as just fit, at two pages each.
  private static let count = 110

  private func fullStore() throws -> ThumbnailStore {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put(pictures(0..<Self.count), at: .now)
    #expect(try kept(in: store, of: 0..<Self.count).count == Self.count)
    return store
  }

  /// Puts more than there is room for.
  private func overflow(_ store: ThumbnailStore) throws {
    try store.put(pictures(1_000..<1_040), at: .now)
    let evictions = try #require(try store.statistics(at: .now).counters?.evictions)
    #expect(evictions > 0)
  }

  private func pictures(_ numbers: Range<Int>) throws -> [NewThumbnail] {
    try numbers.map { try NewThumbnail(large: $0, byteCount: 7_000) }
  }

  /// Found without being read.
  private func kept(in store: ThumbnailStore, of numbers: Range<Int>) throws -> [Int] {
    var urls: Set<String> = []
    try store.forEach { urls.insert($0.url).inserted }
    return numbers.filter { urls.contains("https://example.org/\($0).jpg") }
  }

  private func lacks(_ number: Int, in store: ThumbnailStore) throws -> Bool {
    try kept(in: store, of: number..<number + 1).isEmpty
  }
}

extension ThumbnailStore {
  /// The numbers of entries that the tables have; one number when they agree.
  func verifiedEntryCounts() throws -> Set<Int> {
    try environment.read { transaction throws(StoreError) in
      var counts: Set<Int> = []
      for table in [tables.thumbnails, tables.expiry, tables.arrivals] {
        counts.insert(try transaction.statistics(of: table).entryCount)
      }
      return counts
    }
  }
}
