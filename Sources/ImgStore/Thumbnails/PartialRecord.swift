package import ImgModel

/// The layout of a partial body in the table `partials`: a header, the URL, the validator, the URL
/// that issued the validator, and the received bytes.
///
/// Integers are unsigned and little-endian unless marked; times are signed milliseconds since 1970.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | XXH3-64 of everything behind it |
/// | 8 | 2 | version of this layout: 2; 1 has no issuer |
/// | 10 | 2 | zero |
/// | 12 | 4 | bytes of URL, U |
/// | 16 | 4 | bytes of validator, V |
/// | 20 | 4 | bytes of issuer, I; 0 where that is the URL |
/// | 24 | 8 | bytes of the whole body (signed); -1 if unknown |
/// | 32 | 8 | bytes that the origin has sent for it so far (signed) |
/// | 40 | 8 | stored at (signed) |
/// | 48 | U | URL, UTF-8 |
/// | 48 + U | V | validator, UTF-8 |
/// | 48 + U + V | I | issuer, UTF-8 |
/// | 48 + U + V + I | | the bytes, up to the end |
enum PartialRecord {
  static let headerByteCount = 48
  private static let version: UInt16 = 2

  /// How long a partial body is kept. Retries come within minutes.
  static let lifetime = Duration.seconds(3_600)

  static func encode(
    _ partial: StoredPartial, bytes: some Collection<UInt8>, storedAt: WallTime
  ) -> [UInt8] {
    var record: [UInt8] = []
    record.reserveCapacity(headByteCount(of: partial) + bytes.count)
    record.append(littleEndian: UInt64(0))
    record.append(littleEndian: version)
    record.append(littleEndian: UInt16(0))
    record.append(littleEndian: UInt32(partial.url.utf8.count))
    record.append(littleEndian: UInt32(partial.state.validator.utf8.count))
    record.append(littleEndian: UInt32(partial.state.issuer?.utf8.count ?? 0))
    record.append(littleEndian: Int64(partial.state.completeByteCount ?? -1))
    record.append(littleEndian: Int64(partial.state.receivedByteCount))
    record.append(littleEndian: storedAt.rawValue)
    record.append(contentsOf: partial.url.utf8)
    record.append(contentsOf: partial.state.validator.utf8)
    record.append(contentsOf: (partial.state.issuer ?? "").utf8)
    record.append(contentsOf: bytes)
    RecordChecksum.write(into: &record)
    return record
  }

  /// The size of a record without the bytes of the body.
  static func headByteCount(of partial: StoredPartial) -> Int {
    headerByteCount + partial.url.utf8.count + partial.state.validator.utf8.count
      + (partial.state.issuer?.utf8.count ?? 0)
  }

  /// Calls `body` with the content of a record; `nil` if it is damaged or has expired.
  static func withPartial<Result>(
    in record: Span<UInt8>, key: ContentKey, at now: WallTime,
    _ body: (StoredPartial, Span<UInt8>) -> Result
  ) -> Result? {
    guard let partial = verified(record, key: key), !isExpired(record, at: now) else { return nil }
    return body(partial, record.extracting(droppingFirst: headByteCount(of: partial)))
  }

  /// The facts of a record that passes every check; `nil` if it is damaged.
  static func verified(_ record: Span<UInt8>, key: ContentKey) -> StoredPartial? {
    guard record.count >= headerByteCount, RecordChecksum.isRight(of: record),
      (1...version).contains(record.littleEndian(at: 8, as: UInt16.self))
    else { return nil }
    let urlEnd = headerByteCount + Int(record.littleEndian(at: 12, as: UInt32.self))
    let validatorEnd = urlEnd + Int(record.littleEndian(at: 16, as: UInt32.self))
    let issuerEnd = validatorEnd + Int(record.littleEndian(at: 20, as: UInt32.self))
    guard issuerEnd <= record.count else { return nil }
    let complete = record.littleEndian(at: 24, as: Int64.self)
    let partial = StoredPartial(
      url: record.text(in: headerByteCount..<urlEnd),
      state: ResumeState(
        validator: record.text(in: urlEnd..<validatorEnd),
        issuer: issuerEnd > validatorEnd ? record.text(in: validatorEnd..<issuerEnd) : nil,
        completeByteCount: complete < 0 ? nil : Int(complete),
        receivedByteCount: Int(record.littleEndian(at: 32, as: Int64.self))))
    return key == ContentKey(partialOfRecord: partial.url) ? partial : nil
  }

  /// Whether the record is too old, or too short to have a time. A time in the near future is
  /// valid, because a sweep uses a time in the past. A time further ahead means that the clock was
  /// set back.
  static func isExpired(_ record: Span<UInt8>, at now: WallTime) -> Bool {
    guard let storedAt = storedAt(of: record) else { return true }
    return !(.zero - lifetime..<lifetime).contains(storedAt.duration(to: now))
  }

  /// The storage time in a record, damaged or not; `nil` if it is too short.
  static func storedAt(of record: Span<UInt8>) -> WallTime? {
    guard record.count >= headerByteCount else { return nil }
    return WallTime(rawValue: record.littleEndian(at: 40, as: Int64.self))
  }
}

/// Partial bodies of interrupted downloads. They have no index entries, because there are few, each
/// with at least some tens of kilobytes, and all expire within an hour.
extension ThumbnailTables {
  /// The maximum size of all partial bodies, as a part of the budget.
  static func partialAllowance(ofBudget byteCount: Int64) -> Int64 { byteCount / 8 }

  /// Stores a partial body, truncated to the limit, and replaces the one with its key. Removes the
  /// oldest ones to make room.
  func putPartial(
    _ partial: StoredPartial, bytes: [UInt8], key: ContentKey, at now: WallTime,
    allowanceByteCount: Int64, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    // The header with its texts, and pages of the tree.
    let overhead = PartialRecord.headByteCount(of: partial) + 32 << 10
    let kept = bytes.prefix(max(Int(allowanceByteCount) - overhead, 0))
    let record = PartialRecord.encode(partial, bytes: kept, storedAt: now)
    try removeExpiredPartials(at: now, transaction)
    try transaction.delete(key.bytes, from: partials)
    var others = try partialsByAge(transaction)[...]
    try transaction.put(record, for: key.bytes, in: partials)
    while try partialOccupiedByteCount(transaction) > allowanceByteCount,
      let oldest = others.popFirst()
    {
      try transaction.delete(oldest, from: partials)
    }
  }

  /// - Returns: whether it existed.
  @discardableResult
  func removePartial(
    _ key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try transaction.delete(key.bytes, from: partials)
  }

  func removeExpiredPartials(
    at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var expired: [[UInt8]] = []
    try transaction.scan(partials) { key, record in
      if PartialRecord.isExpired(record, at: now) { expired.append(key.copy()) }
      return true
    }
    for key in expired { try transaction.delete(key, from: partials) }
  }

  func hasExpiredPartial(
    at moment: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    var isFound = false
    try transaction.scan(partials) { _, record in
      isFound = PartialRecord.isExpired(record, at: moment)
      return !isFound
    }
    return isFound
  }

  /// All keys, oldest first.
  private func partialsByAge(_ transaction: borrowing Transaction) throws(StoreError) -> [[UInt8]] {
    var found: [(storedAt: WallTime, key: [UInt8])] = []
    try transaction.scan(partials) { key, record in
      let storedAt = PartialRecord.storedAt(of: record) ?? WallTime(rawValue: .min)
      found.append((storedAt, key.copy()))
      return true
    }
    return found.sorted { $0.storedAt < $1.storedAt }.map(\.key)
  }

  /// The bytes of the table's pages.
  func partialOccupiedByteCount(
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> Int64 {
    let statistics = try transaction.statistics(of: partials)
    return Int64(statistics.pageCount) * Int64(statistics.pageByteCount)
  }
}

/// The facts of a partial body, which are needed to request only the rest.
package struct StoredPartial: Hashable, Sendable {
  /// The name of the picture, see `PictureName.recordText`.
  package let url: String
  package let state: ResumeState

  package init(url: String, state: ResumeState) {
    self.url = url
    self.state = state
  }
}

/// An origin's robots.txt, shared by all processes.
package struct RobotsRecord: Hashable, Sendable {
  /// The relevant part of the file; opaque to the store.
  package let text: String
  package let expiresAt: WallTime

  package init(text: String, expiresAt: WallTime) {
    self.text = text
    self.expiresAt = expiresAt
  }

  package func isExpired(at now: WallTime) -> Bool { expiresAt <= now }

  // MARK: - The record: expiry and text

  private static let headByteCount = 8

  var encoded: [UInt8] {
    var value: [UInt8] = []
    value.append(littleEndian: expiresAt.rawValue)
    return value + text.utf8
  }

  /// - Returns: `nil` for an invalid record.
  init?(_ value: Span<UInt8>) {
    guard value.count >= Self.headByteCount else { return nil }
    self.init(
      text: String(decoding: value.copy().dropFirst(Self.headByteCount), as: UTF8.self),
      expiresAt: WallTime(rawValue: value.littleEndian(at: 0, as: Int64.self)))
  }
}
