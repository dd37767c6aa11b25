import ImgModel

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
