package import ImgModel

extension ThumbnailStore {
  /// The thumbnails after `key`, in the order of their keys. Includes expired ones, but not records
  /// with a damaged header.
  ///
  /// - Parameter limit: the maximum number. Fewer mean the end of the list.
  package func thumbnails(
    after key: ContentKey?, limit: Int
  ) throws(StoreError) -> [StoredThumbnail] {
    var found: [StoredThumbnail] = []
    // Reading a list may take minutes, during which the file may be truncated.
    try environment.refuseTruncatedFile()
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

  /// Calls `body` with every thumbnail in the order of their keys, until it returns `false`.
  ///
  /// Reads in batches, each on a short snapshot, so that a slow caller does not pin freed pages.
  /// Thumbnails that are stored or removed meanwhile may be listed or not.
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

  /// Whether a stored thumbnail or partial body has expired at `moment`. Costs one look-up, and one
  /// for each partial body.
  package func hasExpired(at moment: WallTime) throws(StoreError) -> Bool {
    try environment.read { transaction throws(StoreError) in
      var hasExpired = false
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        // An invalid entry is removed with the expired ones.
        hasExpired =
          ExpiryEntry(key: key, value: value).map { $0.expiresAt <= moment } ?? true
        return false
      }
      if hasExpired { return true }
      return try tables.hasExpiredPartial(at: moment, transaction)
    }
  }

  /// The number of stored thumbnails that have expired at `moment`. Reads their entries of the
  /// expiry index.
  package func expiredCount(at moment: WallTime) throws(StoreError) -> Int {
    try environment.read { transaction throws(StoreError) in
      var count = 0
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        // `cache verify` finds invalid entries.
        guard let entry = ExpiryEntry(key: key, value: value) else { return true }
        guard entry.expiresAt <= moment else { return false }
        count += 1
        return true
      }
      return count
    }
  }

  /// The size of the store. Costs one look-up, independent of the number of thumbnails.
  package func summary() throws(StoreError) -> StoreSummary {
    try environment.read { transaction throws(StoreError) in
      try summary(transaction)
    }
  }

  /// The limits of the store, and what jobs pin of it. Costs a few look-ups.
  package func report() throws(StoreError) -> StoreReport {
    try environment.read { transaction throws(StoreError) in
      let summary = try summary(transaction)
      return StoreReport(
        budgetByteCount: summary.budgetByteCount, diskByteCount: summary.diskByteCount,
        pinnedByteCount: try tables.pinTotals(transaction).byteCount,
        pinningJobs: try tables.pinningJobs(limit: StoreReport.maximumJobCount, transaction))
    }
  }

  private func summary(_ transaction: borrowing Transaction) throws(StoreError) -> StoreSummary {
    let budget = StoreBudget(
      configuredByteCount: try tables.budgetByteCount(transaction),
      fileByteCount: try environment.dataFile.byteCount(), disk: environment.dataFile.diskSpace)
    return StoreSummary(
      entryCount: try transaction.statistics(of: tables.thumbnails).entryCount,
      occupiedByteCount: try tables.occupiedByteCount(transaction),
      budgetByteCount: budget.configuredByteCount,
      diskByteCount: budget.isLimitedByDisk ? budget.diskByteCount : nil)
  }

  /// Statistics on one snapshot. Reads the whole expiry index.
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
        pinned: try tables.pinTotals(transaction),
        oldestStoredAt: oldestStoredAt,
        counters: accessBits?.counters,
        freePageCount: freePageCount,
        freeByteCount: Int64(freePageCount) * Int64(pageByteCount),
        fileByteCount: Int64(try environment.dataFile.byteCount()),
        mapByteCount: Int64(try environment.mapByteCount))
    }
  }
}
