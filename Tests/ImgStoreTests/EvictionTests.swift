import ImgModel
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20))) struct EvictionTests {
  private let directory = TestDirectory()
  private static let budget: Int64 = 1 << 20

  @Test func `a store over its budget evicts the oldest thumbnails down to 70 %`() throws {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    var evictionCount = 0
    var previousCount = 0
    for group in 0..<100 {
      try store.put(pictures(ofGroup: group), at: .now)
      let statistics = try store.statistics(at: .now)
      #expect(statistics.occupiedByteCount <= Self.budget)
      if statistics.recordCount <= previousCount {
        evictionCount += 1
        #expect(statistics.occupiedByteCount <= Self.budget / 10 * 7)
        // A record takes two pages, and may free one of an index.
        #expect(statistics.occupiedByteCount > Self.budget / 10 * 7 - 4 * 4_096)
      }
      previousCount = statistics.recordCount
    }
    #expect(evictionCount > 2)
    #expect(try store.statistics(at: .now).mapByteCount > Self.budget)
    // What is left are the newest, without a gap.
    for number in 0..<600 {
      let isKept = try store.bytes(ofPicture: number) != nil
      #expect(isKept == (number >= 600 - previousCount))
    }
  }

  @Test func `spare originals go before older thumbnails, the oldest first`() throws {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put((0..<40).map { try picture($0) }, at: .now)
    try store.put((40..<100).map { try spare($0) }, at: .now)
    #expect(try store.statistics(at: .now).autoOriginalCount == 60)
    // More than there is room for beside both.
    try store.put((100..<130).map { try picture($0) }, at: .now)
    let present = try (0..<130).filter { try store.bytes(ofPicture: $0) != nil }
    let spares = present.filter { (40..<100).contains($0) }
    #expect(present.filter { $0 < 40 } == Array(0..<40))
    #expect(spares.count < 60 && spares == Array(100 - spares.count..<100))
    let statistics = try store.statistics(at: .now)
    #expect(statistics.autoOriginalCount == spares.count)
    #expect(statistics.autoOriginalByteCount == Int64(spares.count) * 8_192)
    #expect(try store.defects() == [])
  }

  @Test func `spare originals keep within their share, and none becomes spare that was not`() throws
  {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put([picture(0)], at: .now)
    for number in 0..<20 { try store.put([spare(number)], sparePercent: 10, at: .now) }
    #expect(try store.statistics(at: .now).autoOriginalCount == Int(Self.budget / 10) / 8_192)
    let present = try (0..<20).filter { try store.bytes(ofPicture: $0) != nil }
    #expect(present == [0] + Array(8..<20))
    try store.put([picture(19)], at: .now)
    #expect(try store.statistics(at: .now).autoOriginalCount == 11)
    try store.extend([
      ThumbnailAccess(
        key: ContentKey(picture: 18), retention: Retention(until: .now(plusSeconds: 900)), at: .now)
    ])
    let pin = Retention(pins: [JobID(rawValue: 1)])
    try store.extend([ThumbnailAccess(key: ContentKey(picture: 17), retention: pin, at: .now)])
    #expect(try store.statistics(at: .now).autoOriginalCount == 10)
    #expect(try store.remove([ContentKey(picture: 18)]) == 1)
    #expect(try store.statistics(at: .now).autoOriginalCount == 9)
    #expect(try store.defects() == [])
  }

  @Test func `a spare original goes when a later body is stored, and another stays`() throws {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put([spare(1), picture(2)], at: .now)
    for number in 1...2 {
      let plain = try picture(number + 10)
      let later = NewThumbnail(
        key: plain.key, url: plain.url, thumbnail: plain.thumbnail, source: plain.source,
        retention: plain.retention, outdates: try ContentKey(picture: number),
        content: plain.content)
      try store.put([later], at: .now)
    }
    #expect(try store.bytes(ofPicture: 1) == nil)
    #expect(try store.bytes(ofPicture: 2) != nil)
  }

  @Test func `expired thumbnails are removed before old ones`() throws {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put((0..<90).map { try picture($0) }, at: .now)
    let expired = try (90..<110).map {
      try NewThumbnail(picture: $0, byteCount: 7_000, expiresAt: .now(plusSeconds: -1))
    }
    // Storing them does not evict yet.
    try store.put(expired, at: .now(plusSeconds: -2))
    #expect(try store.size().recordCount == 110)
    try store.put((110..<140).map { try picture($0) }, at: .now)
    let counters = try #require(try store.statistics(at: .now).counters)
    #expect(counters.expiredRemovals == 20)
    #expect(try store.statistics(at: .now).expiredCount == 0)
    #expect(try store.size().recordCount == 120 - Int(counters.evictions))
    #expect(try store.bytes(ofPicture: 89) != nil)
  }

  @Test func `a thumbnail just put is never evicted by its own group`() throws {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put((0..<100).map { try picture($0) }, at: .now)
    // It expires before all others, and the store is full.
    let shortLived = try NewThumbnail(
      picture: 1_000, byteCount: 400_000, expiresAt: .now(plusSeconds: 1))
    try store.put([shortLived], at: .now)
    #expect(try store.bytes(ofPicture: 1_000) == shortLived.bytes)
    #expect(try store.size().occupiedByteCount <= Self.budget)
  }

  @Test func `large thumbnails that follow many small ones keep the budget`() throws {
    let budget: Int64 = 32 << 20
    let store = try ThumbnailStore(directory, budgetByteCount: budget)
    for start in stride(from: 0, to: 12_000, by: 3_000) {
      try store.put(
        (start..<start + 3_000).map { try NewThumbnail(large: $0, byteCount: 1_500) }, at: .now)
    }
    for start in stride(from: 20_000, to: 20_040, by: 8) {
      try store.put(
        (start..<start + 8).map { try NewThumbnail(large: $0, byteCount: 1 << 20) }, at: .now)
      #expect(try store.size().occupiedByteCount <= budget)
    }
  }

  @Test func `a group larger than the budget is refused as a whole`() throws {
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put([NewThumbnail(picture: 1)], at: .now)
    let group = try (2..<102).map { try NewThumbnail(large: $0, byteCount: 11_000) }
    let error = #expect(throws: StoreError.self) { try store.put(group, at: .now) }
    // No fault of the disk, and of none that comes later.
    #expect(error?.reason == .tooLarge)
    #expect(try store.size().recordCount == 1)
    // Each alone fits, in place of the ones before.
    for thumbnail in group { try store.put([thumbnail], at: .now) }
    #expect(try store.bytes(ofPicture: 101) != nil)
    #expect(try store.size().occupiedByteCount <= Self.budget)
  }

  @Test func `the next puts shrink a store to a smaller budget`() throws {
    do {
      let store = try ThumbnailStore(directory, budgetByteCount: 16 << 20)
      try store.put((0..<1_900).map { try NewThumbnail(large: $0, byteCount: 7_000) }, at: .now)
    }
    let store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    var before = try store.size().occupiedByteCount
    var putCount = 0
    while before > Self.budget {
      try store.put([NewThumbnail(picture: 10_000 + putCount)], at: .now)
      let after = try store.size().occupiedByteCount
      #expect(after < before)
      before = after
      putCount += 1
    }
    #expect((2...4).contains(putCount))
  }

  @Test func `a map smaller than the budget is kept from filling up`() throws {
    let store = try smallMap()
    for group in 0..<100 { try store.put(pictures(ofGroup: group), at: .now) }
    #expect(try store.bytes(ofPicture: 599) != nil)
    #expect(try store.bytes(ofPicture: 0) == nil)
  }

  @Test func `a map full of pages pinned by a reader stays full until the reader ends`() throws {
    let store = try smallMap()
    try store.put([NewThumbnail(picture: 1_000)], at: .now)
    let error = try store.environment.read { transaction throws(StoreError) in
      // LMDB takes its snapshot at the beginning, so nothing need be read.
      #expect(throws: StoreError.self) {
        for group in 0..<100 { try store.put(pictures(ofGroup: group), at: .now) }
      }
    }
    #expect(error?.isFull == true)
    #expect(error?.code == .mapFull)
    for group in 0..<100 { try store.put(pictures(ofGroup: group), at: .now) }
    #expect(try store.bytes(ofPicture: 599) != nil)
  }

  @Test func `removing from a full store frees space at once`() throws {
    let store = try smallMap()
    // Each a third of the map, so that the fourth finds no page that was never used.
    for round in 0..<6 {
      try store.put((0..<45).map { try picture(45 * round + $0) }, at: .now)
      #expect(try store.size().recordCount == 45)
      try store.reset()
    }
  }

  @Test func `a group larger than the map is refused as a whole`() throws {
    let store = try smallMap()
    try store.put([NewThumbnail(picture: 1)], at: .now)
    let error = #expect(throws: StoreError.self) {
      try store.put((2..<2_000).map { try picture($0) }, at: .now)
    }
    #expect(error?.isFull == true)
    #expect(error?.code == .mapFull)
    #expect(try store.size().recordCount == 1)
    // And the store goes on working.
    try store.put([NewThumbnail(picture: 3)], at: .now)
    #expect(try store.bytes(ofPicture: 3) != nil)
  }

  /// A store whose map is full long before its budget is.
  private func smallMap() throws -> ThumbnailStore {
    try ThumbnailStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: 64 << 20),
      mapByteCount: 1 << 20)
  }

  /// Six pictures, so that a test of hundreds does not wait for the disk hundreds of times.
  private func pictures(ofGroup group: Int) throws -> [NewThumbnail] {
    try (group * 6..<group * 6 + 6).map { try picture($0) }
  }

  private func spare(_ number: Int) throws -> NewThumbnail {
    let plain = try picture(number)
    return NewThumbnail(
      key: plain.key, url: plain.url, thumbnail: plain.thumbnail, source: plain.source,
      retention: plain.retention, isSpare: true, content: plain.content)
  }

  /// Higher numbers expire earlier, so that the order of expiry is not that of arrival.
  private func picture(_ number: Int) throws -> NewThumbnail {
    try NewThumbnail(
      large: number, byteCount: 7_000, expiresAt: .now(plusSeconds: 9_000 - Int64(number)))
  }
}

/// Records that their origin says still hold.
@Suite(.timeLimit(.minutes(20))) struct RenewalTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore

  init() throws {
    store = try ThumbnailStore(directory)
  }

  private static func terms(_ fields: String, until seconds: Int64 = 0) -> ReuseTerms {
    ReuseTerms(
      freshUntil: .now(plusSeconds: seconds), staleWhileRevalidateUntil: .now(plusSeconds: 1),
      staleIfErrorUntil: .now(plusSeconds: 2), fields: fields)
  }

  private func put(_ number: Int, _ fields: String = "etag: \"1\"") throws -> CacheRecord {
    let plain = try NewThumbnail(picture: number)
    let new = NewThumbnail(
      key: plain.key, url: plain.url, thumbnail: plain.thumbnail,
      source: SourcePicture(format: .jpeg, width: 4_000, height: 2_667, byteCount: 3_141_592),
      retention: plain.retention, terms: Self.terms(fields), bytes: plain.bytes)
    try store.put([new], at: .now)
    return try #require(try facts(number))
  }

  private func facts(_ number: Int) throws -> CacheRecord? {
    try store.facts(of: [ContentKey(picture: number)], at: .now)[0]
  }

  private func renewal(_ record: CacheRecord, _ fields: String = "etag: \"1\"") -> Renewal {
    Renewal(
      of: record, terms: Self.terms(fields, until: 50),
      retention: Retention(after: .seconds(600)))
  }

  private let later = WallTime.now(plusSeconds: 30)

  @Test func `the terms of a record are kept, also after an extension`() throws {
    let record = try put(1)
    #expect(record.terms == Self.terms("etag: \"1\""))
    let access = ThumbnailAccess(
      key: record.id, retention: Retention(after: .seconds(900)), at: .now)
    try store.extend([access])
    let extended = try #require(try facts(1))
    #expect(extended.terms == record.terms)
    #expect(extended.expiryTime == .now(plusSeconds: 900))
    #expect(try store.bytes(ofPicture: 1) == NewThumbnail(picture: 1).bytes)
  }

  @Test func `a renewed record of a damaged picture keeps its mark`() throws {
    let new = try NewThumbnail(damaged: 1)
    try store.put([new], at: .now)
    let record = try #require(try facts(1))
    #expect(try store.renew([renewal(record, "")], at: later))
    let renewed = try #require(try facts(1))
    #expect(renewed.thumbnail.isDamaged)
    #expect(renewed.storageTime == later)
  }

  @Test func `a renewed record has new terms and a new storage time, and keeps its bytes`() throws {
    let record = try put(1)
    let request = renewal(record, "etag: \"1\"\nexpires: 0")
    #expect(try store.renew([request], at: later))
    let renewed = try #require(try facts(1))
    #expect(renewed.terms == request.terms)
    #expect(renewed.storageTime == later)
    #expect(renewed.bytesStorageTime == record.storageTime)
    #expect(renewal(renewed).terms.bytesStorageTime == record.storageTime, "also the second time")
    #expect(renewed.expiryTime == later.advanced(by: .seconds(600)))
    #expect(try store.bytes(ofPicture: 1) == NewThumbnail(picture: 1).bytes)
    #expect(try store.defects().isEmpty)
    // A concurrent revalidation of the same record.
    #expect(try store.renew([request], at: later))
  }

  @Test func `a renewal does not shorten the expiry`() throws {
    let record = try put(1)
    let request = Renewal(of: record, terms: record.terms, retention: Retention(after: .seconds(1)))
    #expect(try store.renew([request], at: .now))
    #expect(try facts(1)?.expiryTime == record.expiryTime)
  }

  @Test func `a record that was removed, expired or replaced is not renewed`() throws {
    let gone = renewal(try put(1))
    let expired = renewal(try put(2))
    let replaced = renewal(try put(3))
    _ = try store.remove([ContentKey(picture: 1)])
    let other = try put(3, "etag: \"2\"")
    #expect(try !store.renew([gone], at: later))
    #expect(try !store.renew([expired], at: .now(plusSeconds: 60)))
    #expect(try !store.renew([replaced], at: later))
    #expect(try facts(3) == other)
    #expect(try facts(1) == nil)
  }

  @Test func `a renewal of several records fails if one is missing`() throws {
    let requests = [renewal(try put(1)), renewal(try put(2))]
    _ = try store.remove([ContentKey(picture: 2)])
    #expect(try !store.renew(requests, at: later))
  }
}
