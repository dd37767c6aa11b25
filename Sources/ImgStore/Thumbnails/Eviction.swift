import ImgWire

/// Brings a store down to a size, within a write transaction: what has expired goes first, then
/// what was not read lately.
///
/// The latter by second chance, also named CLOCK, which approximates least recently used without a
/// write for each read: in the order of arrival, a record that was read since it was last passed
/// becomes the newest, one that was not goes.
struct Eviction {
  let tables: ThumbnailTables
  /// `nil` evicts in the order of arrival.
  let uses: UsesFile?
  /// Records that stay, whatever becomes of the target.
  let spared: Set<ContentKey>
  let targetByteCount: Int64
  /// What the store must not exceed afterwards, whatever it takes: its budget, or what it occupied
  /// before this transaction if that was more already, because the budget is a smaller one now.
  let limitByteCount: Int64

  /// Records that one transaction removes at most to come from the limit down to the target, so that
  /// other writers and readers of the index need not wait long.
  private var removalsLeft = 1_024
  /// Second chances that one transaction gives at most, for the same reason. Who would have the
  /// next one goes: the budget is kept.
  private var chancesLeft = 1_024
  /// Records looked at between two looks at the size.
  private static let sliceCount = 8

  init(
    tables: ThumbnailTables, uses: UsesFile?, spared: Set<ContentKey>, targetByteCount: Int64,
    limitByteCount: Int64
  ) {
    self.tables = tables
    self.uses = uses
    self.spared = spared
    self.targetByteCount = targetByteCount
    self.limitByteCount = limitByteCount
  }

  consuming func run(
    at now: WallTime, _ transaction: borrowing Transaction,
    counting counters: inout StoreCounters
  ) throws(StoreError) {
    var eviction = self
    try eviction.removeExpired(at: now, transaction, &counters)
    try eviction.turn(transaction, &counters)
  }

  private mutating func removeExpired(
    at now: WallTime, _ transaction: borrowing Transaction, _ counters: inout StoreCounters
  ) throws(StoreError) {
    while try mustGoOn(transaction) {
      let count = try tables.removeExpired(
        at: now, limit: Self.sliceCount, sparing: spared, transaction)
      counters.expiredRemovals += UInt64(count)
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
      guard let last = slice.last else { return }
      for entry in slice where !spared.contains(entry.key) {
        if chancesLeft > 0, uses?.take(entry.key) ?? false {
          try tables.moveToEnd(entry, transaction)
          chancesLeft -= 1
        } else {
          try tables.remove(entry, transaction)
          removalsLeft -= 1
          counters.evictions += 1
        }
      }
      hand = last.sequence + 1
    }
  }

  private func mustGoOn(_ transaction: borrowing Transaction) throws(StoreError) -> Bool {
    let mostByteCount = removalsLeft > 0 ? targetByteCount : limitByteCount
    return try tables.occupiedByteCount(transaction) > mostByteCount
  }
}
