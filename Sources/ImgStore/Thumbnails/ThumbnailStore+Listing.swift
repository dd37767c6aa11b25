package import ImgModel

extension ThumbnailStore {
  /// Thumbnails in the order of their keys, from the first behind `key` on. Expired ones are among
  /// them, records whose header is damaged are not.
  ///
  /// - Parameter limit: how many at most; fewer mean that the end is reached.
  package func thumbnails(
    after key: ContentKey?, limit: Int
  ) throws(StoreError) -> [StoredThumbnail] {
    var found: [StoredThumbnail] = []
    // A list may be read for minutes, in which the file may be cut off.
    try environment.refuseCutOffFile()
    try environment.read { transaction throws(StoreError) in
      try transaction.scan(tables.thumbnails, from: key?.bytes ?? []) { foundKey, record in
        guard found.count < limit else { return false }
        guard foundKey.count == ContentKey.byteCount else { return true }
        let recordKey = ContentKey(foundKey)
        if recordKey != key, let facts = ThumbnailRecord.facts(of: record, key: recordKey) {
          found.append(facts)
        }
        return true
      }
    }
    return found
  }

  /// Hands every thumbnail to `body` in the order of their keys, until it says `false`.
  ///
  /// Reads in batches, each a short snapshot of its own, so that a slow reader of the list does not
  /// keep freed pages occupied. What is stored or removed meanwhile may be in the list or not.
  package func forEach(_ body: (StoredThumbnail) throws -> Bool) throws {
    let batchCount = 256
    var last: ContentKey?
    while true {
      let batch = try thumbnails(after: last, limit: batchCount)
      for thumbnail in batch {
        guard try body(thumbnail) else { return }
      }
      guard batch.count == batchCount else { return }
      last = batch.last?.key
    }
  }

  /// Whether a thumbnail or a partial has expired at `moment` and is still there, at the cost of a
  /// look-up and one more for each partial.
  package func hasExpired(at moment: WallTime) throws(StoreError) -> Bool {
    try environment.read { transaction throws(StoreError) in
      var hasExpired = false
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        // An entry that makes no sense goes with those that have expired.
        hasExpired =
          ExpiryEntry(key: key, value: value).map { $0.expiresAt <= moment } ?? true
        return false
      }
      if hasExpired { return true }
      return try tables.hasExpiredPartial(at: moment, transaction)
    }
  }

  /// How many thumbnails have expired at `moment` and are still there. Reads their entries of the
  /// expiry index.
  package func expiredCount(at moment: WallTime) throws(StoreError) -> Int {
    try environment.read { transaction throws(StoreError) in
      var count = 0
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        // One that makes no sense is for `cache verify` to find.
        guard let entry = ExpiryEntry(key: key, value: value) else { return true }
        guard entry.expiresAt <= moment else { return false }
        count += 1
        return true
      }
      return count
    }
  }

  /// How full the store is, at the cost of a look-up however many thumbnails it has.
  package func summary() throws(StoreError) -> StoreSummary {
    try environment.read { transaction throws(StoreError) in
      try summary(transaction)
    }
  }

  private func summary(_ transaction: borrowing Transaction) throws(StoreError) -> StoreSummary {
    let budget = StoreBudget(
      configuredByteCount: try tables.budgetByteCount(transaction),
      fileByteCount: try environment.fileByteCount(), disk: environment.diskSpace)
    return StoreSummary(
      entryCount: try transaction.statistics(of: tables.thumbnails).entryCount,
      occupiedByteCount: try tables.occupiedByteCount(transaction),
      budgetByteCount: budget.configuredByteCount,
      diskByteCount: budget.isLimitedByDisk ? budget.diskByteCount : nil)
  }

  /// The store in numbers, on one snapshot. Reads the expiry index from end to end.
  package func statistics(at now: WallTime) throws(StoreError) -> StoreStatistics {
    try environment.read { transaction throws(StoreError) in
      var expiredCount = 0
      var thumbnailByteCount: Int64 = 0
      var oldestStoredAt: WallTime?
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        guard let entry = ExpiryEntry(key: key, value: value) else { return true }
        if entry.expiresAt <= now { expiredCount += 1 }
        thumbnailByteCount += entry.byteCount
        oldestStoredAt = min(oldestStoredAt ?? entry.storedAt, entry.storedAt)
        return true
      }
      let pageByteCount = try transaction.statistics(of: tables.thumbnails).pageByteCount
      let freePageCount = try transaction.freePageCount()
      return StoreStatistics(
        summary: try summary(transaction),
        expiredCount: expiredCount,
        thumbnailByteCount: thumbnailByteCount,
        partialCount: try transaction.statistics(of: tables.partials).entryCount,
        partialByteCount: try tables.partialOccupiedByteCount(transaction),
        oldestStoredAt: oldestStoredAt,
        counters: uses?.counters,
        freePageCount: freePageCount,
        freeByteCount: Int64(freePageCount) * Int64(pageByteCount),
        fileByteCount: Int64(try environment.fileByteCount()),
        mapByteCount: Int64(try environment.mapByteCount))
    }
  }
}
