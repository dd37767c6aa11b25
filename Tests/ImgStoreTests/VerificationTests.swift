import ImgModel
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20))) struct VerificationTests {
  private let directory = TestDirectory()
  private let shared: SharedStore
  private let store: ThumbnailStore

  init() throws {
    shared = try SharedStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: 64 << 20))
    store = try shared.current()
    // More than is checked on one snapshot.
    try store.put((0..<600).map { try NewThumbnail(large: $0, byteCount: 10) }, at: .now)
  }

  @Test func `an intact store has no defects after any change`() throws {
    try store.put([NewThumbnail(picture: 3, expiresAt: .now(plusSeconds: 900))], at: .now)
    _ = try store.remove([ContentKey(picture: 4)])
    #expect(try verify() == [])
    #expect(try shared.verify(isRepairing: false) { _ in } == 599)
    _ = try store.removeExpired(at: .now(plusSeconds: 60), limit: 300)
    #expect(try verify() == [])
  }

  /// The ways in which one record can go wrong, and in how many places that shows.
  enum Damage: CaseIterable {
    case flippedBit, cutRecord, lostExpiry, lostArrival, lostRecord, invalidRecord,
      invalidArrival, invalidExpiry
  }

  @Test(arguments: Damage.allCases)
  func `every kind of damage is found and repaired without other loss`(damage: Damage) throws {
    let key = try ContentKey(picture: 500)
    try inflict(damage, on: key)
    let found = try verify()
    #expect(found.count == expectedReasons(of: damage).count)
    #expect(found.map(\.reason) == expectedReasons(of: damage))
    #expect(found.allSatisfy { !$0.description.contains("\n") })
    // Looking changes nothing.
    #expect(try verify() == found)
    #expect(try verify(isRepairing: true).count >= found.count)
    #expect(try verify() == [])
    #expect(try store.verifiedEntryCounts().count == 1)
    #expect(try store.size().recordCount >= 599)
    #expect(
      try store.statistics(at: .now).counters?.damagedRemovals
        == ([.flippedBit, .cutRecord].contains(damage) ? 1 : 0))
  }

  private func expectedReasons(of damage: Damage) -> [StoreDefect.Reason] {
    switch damage {
    case .flippedBit, .cutRecord: [.damaged]
    case .lostExpiry: [.withoutRecord, .withoutExpiry]
    case .lostArrival: [.withoutArrival]
    case .lostRecord: [.withoutRecord, .withoutRecord]
    case .invalidRecord, .invalidArrival: [.invalid]
    case .invalidExpiry: [.withoutRecord, .invalid, .withoutExpiry]
    }
  }

  private func inflict(_ damage: Damage, on key: ContentKey) throws {
    let tables = store.tables
    try store.environment.write { transaction throws(StoreError) in
      let record = try transaction.withValue(of: key.bytes, in: tables.thumbnails) { $0.copy() }
      guard var record else { return }
      let expiryKey = ExpiryEntry.encodedKey(expiresAt: .now(plusSeconds: 60), key: key)
      let sequence = try transaction.withValue(of: expiryKey, in: tables.expiry) {
        $0.littleEndian(at: 16, as: UInt64.self)
      }
      switch damage {
      case .flippedBit:
        // In the expiry, which the indexes repeat.
        record[57] ^= 1
        try transaction.put(record, for: key.bytes, in: tables.thumbnails)
      case .cutRecord:
        try transaction.put(Array(record.prefix(20)), for: key.bytes, in: tables.thumbnails)
      case .lostExpiry: try transaction.delete(expiryKey, from: tables.expiry)
      case .lostArrival:
        try transaction.delete(ArrivalEntry.encodedKey(sequence ?? 0), from: tables.arrivals)
      case .lostRecord: try transaction.delete(key.bytes, from: tables.thumbnails)
      case .invalidRecord: try transaction.put([1], for: [2, 3], in: tables.thumbnails)
      case .invalidArrival: try transaction.put([1], for: [2, 3], in: tables.arrivals)
      case .invalidExpiry: try transaction.put([1], for: expiryKey, in: tables.expiry)
      }
    }
  }

  private func verify(isRepairing: Bool = false) throws -> [StoreDefect] {
    var defects: [StoreDefect] = []
    _ = try shared.verify(isRepairing: isRepairing) { defects.append($0) }
    return defects
  }
}

/// Entries of the indexes that are wrong do not keep a store from making room.
@Suite(.timeLimit(.minutes(20))) struct DamagedIndexTests {
  private let directory = TestDirectory()
  private let store: ThumbnailStore
  private static let budget: Int64 = 1 << 20

  init() throws {
    store = try ThumbnailStore(directory, budgetByteCount: Self.budget)
    try store.put(pictures(0..<100), at: .now)
  }

  /// What goes wrong with the oldest picture's entries, or beside them.
  enum Damage: CaseIterable {
    case arrivalCut, arrivalBeforeAll, arrivalBehindAll, arrivalOfHighestNumber
    case expiryCut, expiryBesides, expiryLost, recordLost

    /// Whether eviction comes by it and sees that it is wrong.
    func isMet(wasRead: Bool) -> Bool {
      switch self {
      case .arrivalCut, .arrivalBeforeAll, .expiryBesides, .recordLost: true
      case .expiryCut, .expiryLost: wasRead
      case .arrivalBehindAll, .arrivalOfHighestNumber: false
      }
    }
  }

  @Test(arguments: Damage.allCases, [false, true])
  func `a full store evicts despite any damaged index entry`(damage: Damage, wasRead: Bool) throws {
    if wasRead { #expect(try store.bytes(ofPicture: 0) != nil) }
    try inflict(damage)
    for group in 1..<12 {
      try store.put(pictures(group * 100..<group * 100 + 40), at: .now)
      #expect(try store.size().occupiedByteCount <= Self.budget)
      #expect(try store.bytes(ofPicture: group * 100 + 39) != nil)
    }
    // Every other picture of the first ones has gone.
    #expect(try (1..<100).allSatisfy { try store.bytes(ofPicture: $0) == nil })
    let damagedRemovals = try store.statistics(at: .now).counters?.damagedRemovals
    #expect(damagedRemovals == (damage.isMet(wasRead: wasRead) ? 1 : 0))
  }

  @Test(arguments: [Damage.expiryBesides, .expiryCut])
  func `statistics skip an invalid entry`(damage: Damage) throws {
    try inflict(damage)
    let later = WallTime.now(plusSeconds: 60)
    let expiredCount = damage == .expiryCut ? 99 : 100
    #expect(try store.statistics(at: later).expiredCount == expiredCount)
    #expect(try store.expiredCount(at: later) == expiredCount)
    #expect(try store.hasExpired(at: later))
  }

  @Test func `removing expired records skips an invalid entry`() throws {
    try inflict(.expiryBesides)
    #expect(try store.removeExpired(at: .now(plusSeconds: 60), limit: 200) == 101)
    #expect(try store.verifiedEntryCounts() == [0])
    let counters = try #require(try store.statistics(at: .now).counters)
    #expect(counters.expiredRemovals == 100)
    #expect(counters.damagedRemovals == 1)
  }

  @Test func `removing a damaged record skips an invalid index entry`() throws {
    try inflict(.expiryBesides)
    let key = try ContentKey(picture: 5)
    try store.environment.write { transaction throws(StoreError) in
      try transaction.put([1, 2, 3], for: key.bytes, in: store.tables.thumbnails)
    }
    #expect(try store.removeStale([key], at: .now) == 1)
    #expect(try store.lookup(key, at: .now) == .miss)
  }

  private func inflict(_ damage: Damage) throws {
    let tables = store.tables
    let key = try ContentKey(picture: 0)
    let expiryKey = ExpiryEntry.encodedKey(expiresAt: .now(plusSeconds: 60), key: key)
    try store.environment.write { transaction throws(StoreError) in
      switch damage {
      case .arrivalCut:
        try transaction.put([1], for: ArrivalEntry.encodedKey(1), in: tables.arrivals)
      case .arrivalBeforeAll: try transaction.put([1], for: [0], in: tables.arrivals)
      case .arrivalBehindAll:
        try transaction.put([1], for: [UInt8](repeating: 255, count: 9), in: tables.arrivals)
      case .arrivalOfHighestNumber:
        let entry = ArrivalEntry(sequence: .max, key: key, expiresAt: .now)
        try transaction.put(entry.encodedValue, for: entry.encodedKey, in: tables.arrivals)
      case .expiryCut: try transaction.put([1], for: expiryKey, in: tables.expiry)
      case .expiryBesides: try transaction.put([1], for: [0, 1], in: tables.expiry)
      case .expiryLost: try transaction.delete(expiryKey, from: tables.expiry)
      case .recordLost:
        try transaction.delete(key.bytes, from: tables.thumbnails)
        try transaction.delete(expiryKey, from: tables.expiry)
      }
    }
  }

  private func pictures(_ numbers: Range<Int>) throws -> [NewThumbnail] {
    try numbers.map { try NewThumbnail(large: $0, byteCount: 7_000) }
  }
}
