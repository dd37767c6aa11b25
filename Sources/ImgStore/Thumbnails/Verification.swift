import CXXHash
import ImgModel

extension SharedStore {
  /// Checks every record and every index entry, and calls `report` with each defect.
  ///
  /// The store may be used and replaced meanwhile. Each entry is compared with others of its
  /// snapshot.
  ///
  /// - Parameter isRepairing: whether to remove defects after reporting them. Requests make the
  ///   removed thumbnails again.
  /// - Returns: the number of records.
  package func verify(
    isRepairing: Bool, _ report: (StoreDefect) throws -> Void
  ) throws -> Int {
    var recordCount = 0
    for table in StoreDefect.Table.allCases {
      var next: [UInt8]? = []
      while let start = next {
        let part = try current().check(table, from: start)
        if table == .thumbnails { recordCount += part.count }
        for defect in part.defects {
          try report(defect)
          if isRepairing {
            try change { store throws(StoreError) in try store.repair(defect) }
          }
        }
        next = part.next
      }
    }
    return recordCount
  }
}

extension ThumbnailStore {
  /// The number of entries that are checked on one snapshot, which pins freed pages.
  private static let checkedCount = 256

  /// - Returns: the start of the `next` part; `nil` at the end.
  func check(
    _ table: StoreDefect.Table, from start: [UInt8]
  ) throws(StoreError) -> (count: Int, defects: [StoreDefect], next: [UInt8]?) {
    var count = 0
    var defects: [StoreDefect] = []
    var next: [UInt8]?
    try environment.read { transaction throws(StoreError) in
      try transaction.scan(tables.database(of: table), from: start) {
        key, value throws(StoreError) in
        guard count < Self.checkedCount else {
          next = key.copy()
          return false
        }
        count += 1
        let reason = try tables.defect(in: table, key: key, value: value, transaction)
        if let reason {
          defects.append(StoreDefect(table: table, entryKey: key.copy(), reason: reason))
        }
        return true
      }
    }
    return (count, defects, next)
  }

  fileprivate func repair(_ defect: StoreDefect) throws(StoreError) {
    try change { transaction, counters throws(StoreError) in
      if try tables.repair(defect, transaction) == .damaged { counters.damagedRemovals += 1 }
    }
  }
}

/// Checks entries: their own form, and the entries they belong to.
extension ThumbnailTables {
  func database(of table: StoreDefect.Table) -> Database {
    switch table {
    case .arrivals: arrivals
    case .expiry: expiry
    case .thumbnails: thumbnails
    case .partials: partials
    case .chunks: chunks
    }
  }

  /// The defect of an entry; `nil` if it is intact.
  func defect(
    in table: StoreDefect.Table, key: Span<UInt8>, value: Span<UInt8>,
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    switch table {
    case .arrivals:
      guard let entry = ArrivalEntry(key: key, value: value) else { return .invalid }
      return try defect(of: entry, transaction)
    case .expiry:
      guard let entry = ExpiryEntry(key: key, value: value) else { return .invalid }
      return try defect(of: entry, transaction)
    case .thumbnails:
      guard key.count == ContentKey.byteCount else { return .invalid }
      return try defect(of: value, key: ContentKey(key), transaction)
    case .partials:
      guard key.count == ContentKey.byteCount else { return .invalid }
      return PartialRecord.verified(value, key: ContentKey(key)) == nil ? .damaged : nil
    case .chunks: return try defect(ofChunk: key, value, transaction)
    }
  }

  /// Removes an entry that still has a defect, and the index entries of a record.
  ///
  /// - Returns: the defect; `nil` if there is none any more.
  func repair(
    _ defect: StoreDefect, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    let database = database(of: defect.table)
    let key = defect.entryKey
    let found = try transaction.withValue(of: key, in: database) { value throws(StoreError) in
      try self.defect(in: defect.table, key: key.span, value: value, transaction)
    }
    guard let reason = found ?? nil else { return nil }
    if defect.table == .thumbnails, key.count == ContentKey.byteCount {
      try remove(ContentKey(key.span), transaction)
    } else if defect.table == .arrivals, let sequence = ArrivalEntry.sequence(of: key.span) {
      try removeArrival(sequence, transaction)
    } else {
      try transaction.delete(key, from: database)
    }
    return reason
  }

  private func defect(
    of entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    let expiryEntry = try expiryEntry(of: entry.key, expiresAt: entry.expiresAt, transaction)
    guard let expiryEntry, expiryEntry.sequence == entry.sequence else { return .withoutRecord }
    return try defect(of: expiryEntry, transaction)
  }

  private func defect(
    of entry: ExpiryEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    let isRight = try transaction.withValue(of: entry.key.bytes, in: thumbnails) { record in
      // A damaged record is reported once, not also with its index entries.
      ThumbnailRecord.expiresAt(of: record) == entry.expiresAt
        || ThumbnailRecord.verifiedFacts(of: record, key: entry.key) == nil
    }
    return isRight ?? false ? nil : .withoutRecord
  }

  private func defect(
    of record: Span<UInt8>, key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key) else { return .damaged }
    if let content = ThumbnailRecord.chunkedContent(of: record),
      try !isIntact(content, owner: key, transaction)
    {
      return .damaged
    }
    guard let entry = try expiryEntry(of: key, expiresAt: facts.expiryTime, transaction) else {
      return .withoutExpiry
    }
    let arrivalKey = ArrivalEntry.encodedKey(entry.sequence)
    let isNamed = try transaction.withValue(of: arrivalKey, in: arrivals) { value in
      ArrivalEntry(key: arrivalKey.span, value: value)?.key == key
    }
    return isNamed ?? false ? nil : .withoutArrival
  }
}

/// An entry of a store that is damaged or contradicts other entries.
package struct StoreDefect: Hashable, Sendable {
  /// In the order of the checks and repairs: index entries without a record before records without
  /// an index entry, and chunks after the records that they belong to.
  enum Table: String, CaseIterable, Sendable {
    case arrivals, expiry, thumbnails, partials, chunks
  }

  enum Reason: String, Sendable {
    case invalid = "is not a valid entry"
    case damaged = "fails its checksum, or its lengths are wrong"
    case withoutExpiry = "has no entry in the expiry index"
    case withoutArrival = "has no entry in the order of arrival"
    case withoutRecord = "has no record"
  }

  let table: Table
  let entryKey: [UInt8]
  let reason: Reason
}

extension StoreDefect: CustomStringConvertible {
  /// One line: the table, the key and the reason.
  package var description: String { "\(table.rawValue) \(keyText): \(reason.rawValue)" }

  /// The key in hexadecimal digits.
  private var keyText: String {
    entryKey.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}

extension StoreDefect: Encodable {
  package func encode(to encoder: any Encoder) throws {
    try JSONObject(["table": table.rawValue, "key": keyText, "reason": reason.rawValue])
      .encode(to: encoder)
  }
}

/// The first eight bytes of a record: XXH3-64 of all bytes behind them, little-endian.
///
/// It detects damage by the disk or a stray write. It is no defence against an attacker who may
/// write the files.
enum RecordChecksum {
  static let byteCount = 8

  /// - Precondition: the record starts with the bytes for the checksum.
  static func write(into record: inout MutableSpan<UInt8>) {
    record.write(
      littleEndian: of(record.span.extracting(droppingFirst: byteCount)), at: 0)
  }

  /// - Precondition: the record starts with the bytes for the checksum.
  static func write(into record: inout [UInt8]) {
    var bytes = record.mutableSpan
    write(into: &bytes)
  }

  /// - Precondition: the record is at least as long as the checksum.
  static func isRight(of record: Span<UInt8>) -> Bool {
    record.littleEndian(at: 0, as: UInt64.self) == of(record.extracting(droppingFirst: byteCount))
  }

  static func of(_ bytes: Span<UInt8>) -> UInt64 {
    unsafe bytes.withUnsafeBufferPointer { unsafe img_xxh3_64bits($0.baseAddress, $0.count) }
  }

  /// - Parameter seed: other data that the checksum includes.
  static func of(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBufferPointer {
      unsafe img_xxh3_64bits_seeded($0.baseAddress, $0.count, seed)
    }
  }
}
