package import ImgModel

/// Keeps a store within its budget, at the end of a write transaction: first removes expired
/// records, then those not accessed recently.
///
/// The second step uses second chance, also named CLOCK, which approximates least recently used
/// without a write for each read. In the order of arrival, a record whose access bit is set becomes
/// the newest; another one is removed.
///
/// Spare originals (see `Keep.auto`) come first in that order, and so are evicted before all others.
///
/// Records that jobs pin stay, see `PinPolicy`; those that have expired go like others.
///
/// Partial bodies (see ``PartialRecord``) are removed only by their age, unless new thumbnails need
/// the space of all of them.
///
/// Invalid index entries and those without a record are removed when found.
struct Eviction {
  /// Thumbnails of this transaction, without spare originals. They are not evicted, so that a client that learns of a stored
  /// thumbnail finds it.
  struct Newcomers {
    let keys: Set<ContentKey>
    let arrival: WallTime
  }

  private let tables: ThumbnailTables
  /// `nil` evicts in the order of arrival.
  private let accessBits: AccessBits?
  /// `nil` after a change that stored nothing.
  private let newcomers: Newcomers?
  /// The size after an eviction, if it needs at most `removalsLeft` removals.
  private let targetByteCount: Int64
  /// What pinned records take.
  private let pinnedByteCount: Int64
  /// The maximum size after the commit: the budget, or the size before this transaction if that was
  /// larger because the budget was reduced; less the bytes to free.
  private let limitByteCount: Int64
  private let isLimitedByDisk: Bool
  private let byteCountBefore: Int64

  /// The maximum number of removals from the limit down to the target, so that other writers do not
  /// wait long.
  private var removalsLeft = 1_024
  /// The maximum number of second chances in one transaction, for the same reason. Beyond it,
  /// records are removed, so that the store stays within its budget.
  private static let maximumChances = 1_024
  /// The records with a second chance in this transaction.
  private var chances: Set<ContentKey> = []
  /// The number of records that are read at once.
  private static let sliceCount = 8

  /// - Parameters:
  ///   - byteCountToFree: the bytes by which the store must shrink.
  ///   - byteCountBefore: the size at the start of the transaction.
  ///   - pinnedByteCount: what pinned records take now.
  init(
    tables: ThumbnailTables, accessBits: AccessBits?, newcomers: Newcomers?, budget: StoreBudget,
    byteCountToFree: Int64, byteCountBefore: Int64, pinnedByteCount: Int64
  ) {
    let budgetByteCount = budget.effectiveByteCount
    self.tables = tables
    self.accessBits = accessBits
    self.newcomers = newcomers
    self.byteCountBefore = byteCountBefore
    self.pinnedByteCount = pinnedByteCount
    limitByteCount =
      byteCountToFree > 0
      ? byteCountBefore - byteCountToFree : max(budgetByteCount, byteCountBefore)
    isLimitedByDisk = budget.isLimitedByDisk
    // Leave free space, so that not every put must evict: of what may be evicted.
    let evictableByteCount = max(0, budgetByteCount - pinnedByteCount)
    targetByteCount =
      newcomers == nil ? limitByteCount : budgetByteCount - evictableByteCount / 10 * 3
  }

  /// - Returns: the records with a second chance. The caller clears their access bits after the
  ///   commit.
  /// - Throws: ``StoreError/Reason/tooLarge`` if the newcomers alone exceed the budget,
  ///   ``StoreError/Reason/pinned`` if most of it is pinned,
  ///   ``StoreError/Reason/full`` if they exceed the space on the disk.
  consuming func run(
    _ transaction: borrowing Transaction, counting counters: inout CacheStatistics.Counters
  ) throws(StoreError) -> Set<ContentKey> {
    var eviction = self
    guard try eviction.exceedsLimit(transaction) else { return [] }
    if let now = eviction.newcomers?.arrival {
      try eviction.removeExpired(at: now, transaction, &counters)
      try eviction.tables.removeExpiredPartials(at: now, transaction)
      try eviction.tables.removeAbandonedChunks(at: now, transaction)
    }
    try eviction.sweep(transaction, &counters)
    if eviction.newcomers != nil, try eviction.exceedsLimit(transaction) {
      try transaction.clear(eviction.tables.partials)
    }
    if eviction.newcomers != nil, try eviction.exceedsLimit(transaction) {
      if eviction.pinnedByteCount > eviction.limitByteCount / 2 {
        throw StoreError(
          .pinned, operation: "put, beside pinned thumbnails", isOfDisk: eviction.isLimitedByDisk)
      }
      throw eviction.isLimitedByDisk
        ? StoreError(.noSpace, operation: "put, more than the disk has room for")
        : StoreError(.largerThanBudget, operation: "put, more than the budget at once")
    }
    return eviction.chances
  }

  private mutating func removeExpired(
    at now: WallTime, _ transaction: borrowing Transaction,
    _ counters: inout CacheStatistics.Counters
  ) throws(StoreError) {
    while try mustRemoveMore(transaction) {
      let count = try tables.removeExpired(
        at: now, limit: Self.sliceCount, sparing: newcomers?.keys ?? [], transaction,
        counting: &counters)
      removalsLeft -= count
      guard count == Self.sliceCount else { return }
    }
  }

  /// Moves the hand of the clock from the oldest arrival on. If all records were accessed, it meets
  /// those with a second chance again at the end.
  private mutating func sweep(
    _ transaction: borrowing Transaction, _ counters: inout CacheStatistics.Counters
  ) throws(StoreError) {
    var hand: UInt64 = 0
    while try mustRemoveMore(transaction) {
      let slice = try tables.arrivals(from: hand, limit: Self.sliceCount, transaction)
      guard !slice.isEmpty else { return }
      for key in slice.invalidKeys {
        try transaction.delete(key, from: tables.arrivals)
        counters.damagedRemovals += 1
      }
      for entry in slice.entries
      where entry.pin == nil && newcomers?.keys.contains(entry.key) != true {
        // No slice is removed as a whole: in a small store it is a large share.
        guard try mustRemoveMore(transaction) else { return }
        try keepOrRemove(entry, transaction, &counters)
      }
      // Pinned records are at the end.
      if slice.entries.last?.pin != nil { return }
      if let last = slice.entries.last { hand = last.sequence + 1 }
    }
  }

  private mutating func keepOrRemove(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction,
    _ counters: inout CacheStatistics.Counters
  ) throws(StoreError) {
    var isDamaged = false
    if hasChance(entry.key) {
      if try tables.moveToEnd(entry, transaction) {
        chances.insert(entry.key)
        return
      }
      isDamaged = true
    }
    if try !tables.remove(entry, transaction) { isDamaged = true }
    if isDamaged { counters.damagedRemovals += 1 } else { counters.evictions += 1 }
    removalsLeft -= 1
  }

  private func hasChance(_ key: ContentKey) -> Bool {
    guard chances.count < Self.maximumChances, !chances.contains(key) else { return false }
    return accessBits?.isSet(for: key) ?? false
  }

  private func mustRemoveMore(_ transaction: borrowing Transaction) throws(StoreError) -> Bool {
    if removalsLeft > 0, try tables.occupiedByteCount(transaction) > targetByteCount {
      return true
    }
    return try exceedsLimit(transaction)
  }

  /// Whether the store would exceed its limit after the commit. The commit lists the pages that the
  /// transaction frees, and the remaining ones of older lists that it used, in pages of its own
  /// (`mdb_freelist_save` in LMDB's source): eight bytes for each page in use before or now, and a
  /// few pages for the tree of the lists.
  private func exceedsLimit(_ transaction: borrowing Transaction) throws(StoreError) -> Bool {
    let byteCount = try tables.occupiedByteCount(transaction)
    let pageByteCount = try transaction.statistics(of: .freePages).pageByteCount
    let listedByteCount = (byteCountBefore + byteCount) / Int64(pageByteCount) * 8
    let treeByteCount = Int64(8 * pageByteCount)
    return byteCount + listedByteCount + treeByteCount > limitByteCount
  }
}

/// The result of a successful revalidation: the record counts as stored now, with new terms, which have the
/// time at which its bytes were stored.
package struct Renewal: Sendable {
  /// The record at the time of the revalidation request.
  let record: CacheRecord
  package let terms: ReuseTerms
  /// Its durations count from the renewal.
  let retention: Retention

  package init(of record: CacheRecord, terms: ReuseTerms, retention: Retention) {
    self.record = record
    self.terms = terms.confirming(bytesStoredAt: record.bytesStorageTime)
    self.retention = retention
  }

  /// The same, pinned by no job.
  package var withoutPins: Renewal {
    Renewal(of: record, terms: terms, retention: retention.withoutPins)
  }

  /// Whether `found` is the revalidated record, possibly renewed by another process meanwhile.
  func concerns(_ found: CacheRecord) -> Bool {
    found.thumbnail == record.thumbnail
      && [record.terms.fields, terms.fields].contains(found.terms.fields)
  }

  /// The record to store again, with this content.
  func renewed(_ content: NewContent) -> NewThumbnail {
    NewThumbnail(
      key: record.id, url: record.name, thumbnail: record.thumbnail, source: record.source,
      retention: retention, terms: terms, isSpare: nil, content: content)
  }
}

extension ThumbnailTables {
  /// Stores a record again. Does nothing if it was removed, has expired or was replaced by another
  /// picture.
  ///
  /// - Returns: whether it was renewed.
  func renew(
    _ renewal: Renewal, at now: WallTime, _ transaction: borrowing Transaction,
    counting counters: inout CacheStatistics.Counters
  ) throws(StoreError) -> Bool {
    let key = renewal.record.id
    let found = try withRecord(of: key, transaction) { record -> NewThumbnail? in
      guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key),
        !facts.isExpired(at: now), renewal.concerns(facts)
      else { return nil }
      return renewal.renewed(
        ThumbnailRecord.chunkedContent(of: record).map { .chunks($0) }
          ?? .bytes(record.extracting(last: facts.thumbnail.byteCount).copy()))
    }
    guard let renewed = found ?? nil else { return false }
    try put(renewed, at: now, transaction, counting: &counters)
    return true
  }
}

extension Eviction.Newcomers {
  init(_ thumbnails: [NewThumbnail], at arrival: WallTime) {
    self.init(
      keys: Set(thumbnails.filter { $0.isSpare != true }.map(\.key)), arrival: arrival)
  }
}
