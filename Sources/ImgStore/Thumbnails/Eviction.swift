import ImgModel

/// Keeps a store to its budget, at the end of a write transaction: what has expired goes first, then
/// what was not read lately.
///
/// The latter by second chance, also named CLOCK, which approximates least recently used without a
/// write for each read: in the order of arrival, a record that was read since it was last passed
/// becomes the newest, one that was not goes.
///
/// The beginnings of bodies (see ``PartialRecord``) go by their age alone, unless newcomers need the
/// room of all of them.
///
/// An entry of an index that is none of this release, or that belongs to no record, goes as soon as
/// it is met.
struct Eviction {
  /// Thumbnails that were just put: whoever is told that one is stored finds it.
  struct Newcomers {
    let keys: Set<ContentKey>
    let arrival: WallTime

    init(keys: Set<ContentKey>, arrival: WallTime) {
      self.keys = keys
      self.arrival = arrival
    }

    init(_ thumbnails: [NewThumbnail], at arrival: WallTime) {
      self.init(keys: Set(thumbnails.map(\.key)), arrival: arrival)
    }
  }

  private let tables: ThumbnailTables
  /// `nil` evicts in the order of arrival.
  private let uses: UsesFile?
  /// `nil` after a change that put nothing.
  private let newcomers: Newcomers?
  /// Below it the store comes once it has been full, if that needs no more than `removalsLeft`.
  private let targetByteCount: Int64
  /// What the store does not exceed after the commit, whatever it takes: its budget, or what it
  /// occupied before this transaction if that was more already, because the budget is a smaller one
  /// now; less what is to be freed.
  private let limitByteCount: Int64
  private let isLimitedByDisk: Bool
  private let byteCountBefore: Int64

  /// Records that one transaction removes at most to come from the limit down to the target, so that
  /// other writers and readers of the index need not wait long.
  private var removalsLeft = 1_024
  /// Second chances that one transaction gives at most, for the same reason. Who would have the
  /// next one goes: the budget is kept.
  private static let maximumChances = 1_024
  /// Who was given one by this transaction.
  private var chances: Set<ContentKey> = []
  /// Records looked at between two looks at the size.
  private static let sliceCount = 8

  /// - Parameters:
  ///   - byteCountToFree: by how much the store is to become smaller.
  ///   - byteCountBefore: what the store occupied when the transaction began.
  init(
    tables: ThumbnailTables, uses: UsesFile?, newcomers: Newcomers?, budget: StoreBudget,
    byteCountToFree: Int64, byteCountBefore: Int64
  ) {
    let budgetByteCount = budget.effectiveByteCount
    self.tables = tables
    self.uses = uses
    self.newcomers = newcomers
    self.byteCountBefore = byteCountBefore
    limitByteCount =
      byteCountToFree > 0
      ? byteCountBefore - byteCountToFree : max(budgetByteCount, byteCountBefore)
    isLimitedByDisk = budget.isLimitedByDisk
    // Some room to come, so that not every put has to evict.
    targetByteCount = newcomers == nil ? limitByteCount : budgetByteCount / 10 * 7
  }

  /// - Returns: whom it gave a second chance: their uses are to be forgotten once the transaction
  ///   is committed.
  /// - Throws: ``StoreError/Reason/tooLarge`` when the newcomers alone exceed the budget,
  ///   ``StoreError/Reason/full`` when they exceed what the disk has room for.
  consuming func run(
    _ transaction: borrowing Transaction, counting counters: inout StoreCounters
  ) throws(StoreError) -> Set<ContentKey> {
    var eviction = self
    guard try eviction.exceedsLimit(transaction) else { return [] }
    if let now = eviction.newcomers?.arrival {
      try eviction.removeExpired(at: now, transaction, &counters)
      try eviction.tables.removeExpiredPartials(at: now, transaction)
    }
    try eviction.turn(transaction, &counters)
    if eviction.newcomers != nil, try eviction.exceedsLimit(transaction) {
      try transaction.clear(eviction.tables.partials)
    }
    if eviction.newcomers != nil, try eviction.exceedsLimit(transaction) {
      throw eviction.isLimitedByDisk
        ? StoreError(.noSpace, operation: "put, more than the disk has room for")
        : StoreError(.largerThanBudget, operation: "put, more than the budget at once")
    }
    return eviction.chances
  }

  private mutating func removeExpired(
    at now: WallTime, _ transaction: borrowing Transaction, _ counters: inout StoreCounters
  ) throws(StoreError) {
    while try mustGoOn(transaction) {
      let count = try tables.removeExpired(
        at: now, limit: Self.sliceCount, sparing: newcomers?.keys ?? [], transaction,
        counting: &counters)
      removalsLeft -= count
      guard count == Self.sliceCount else { return }
    }
  }

  /// Moves the hand of the clock from the oldest arrival on. It passes a record that it gave a
  /// second chance once more, at the end, when all others were read, too.
  private mutating func turn(
    _ transaction: borrowing Transaction, _ counters: inout StoreCounters
  ) throws(StoreError) {
    var hand: UInt64 = 0
    while try mustGoOn(transaction) {
      let slice = try tables.arrivals(from: hand, limit: Self.sliceCount, transaction)
      guard !slice.isEmpty else { return }
      for key in slice.foreignKeys {
        try transaction.delete(key, from: tables.arrivals)
        counters.damagedRemovals += 1
      }
      for entry in slice.entries where newcomers?.keys.contains(entry.key) != true {
        try pass(entry, transaction, &counters)
      }
      if let last = slice.entries.last { hand = last.sequence + 1 }
    }
  }

  private mutating func pass(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction, _ counters: inout StoreCounters
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
    return uses?.isNoted(key) ?? false
  }

  private func mustGoOn(_ transaction: borrowing Transaction) throws(StoreError) -> Bool {
    if removalsLeft > 0, try tables.occupiedByteCount(transaction) > targetByteCount {
      return true
    }
    return try exceedsLimit(transaction)
  }

  /// Whether the store would exceed its limit after the commit, which lists the pages that the
  /// transaction frees, and those of older lists that it used, in pages of its own
  /// (`mdb_freelist_save` in LMDB's source): eight bytes for a page that was in use before or is
  /// now, and a few pages for the tree that holds the lists.
  private func exceedsLimit(_ transaction: borrowing Transaction) throws(StoreError) -> Bool {
    let byteCount = try tables.occupiedByteCount(transaction)
    let pageByteCount = try transaction.statistics(of: .freePages).pageByteCount
    let listedByteCount = (byteCountBefore + byteCount) / Int64(pageByteCount) * 8
    let treeByteCount = Int64(8 * pageByteCount)
    return byteCount + listedByteCount + treeByteCount > limitByteCount
  }
}
