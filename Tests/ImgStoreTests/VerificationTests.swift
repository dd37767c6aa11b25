import ImgModel
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20)))
struct VerificationTests {
  private let directory: TestDirectory
  private let shared: SharedStore
  private let store: ThumbnailStore

  init() throws {
    directory = try TestDirectory()
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
  func `every kind of damage is found and repaired without other loss`(
    damage: Damage
  ) throws {
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
    #expect(try store.summary().entryCount >= 599)
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
