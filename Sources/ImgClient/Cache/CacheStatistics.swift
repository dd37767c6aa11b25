public import FoundationEssentials
import ImgStore

/// What the store holds, and how often it had what was asked for. All sizes are in bytes.
///
/// A transport fills in what it knows.
public struct CacheStatistics: Hashable, Sendable {
  /// The work of all processes that use the store, since it was created.
  public struct Counters: Hashable, Sendable {
    /// Look-ups that found a record.
    public var hits: UInt64 = 0
    /// Look-ups of records that were missing, expired or damaged.
    public var misses: UInt64 = 0
    /// Records that were stored.
    public var stores: UInt64 = 0
    /// Records that were removed for lack of room before they expired.
    public var evictions: UInt64 = 0
    /// Records that were removed because they had expired.
    public var expiredRemovals: UInt64 = 0
    /// Records that were removed because they were damaged.
    public var damagedRemovals: UInt64 = 0

    /// Counters of nothing.
    public init() {}

    /// The share of hits among the look-ups, from 0 to 1; `nil` without look-ups.
    public var hitRate: Double? {
      let lookups = Double(hits) + Double(misses)
      return lookups > 0 ? Double(hits) / lookups : nil
    }
  }

  /// The number of records: thumbnails, originals and facts of pictures. Includes expired ones that are
  /// not yet removed.
  public var recordCount = 0
  /// The size of what the records contain.
  public var byteCount: Int64 = 0
  /// The number of records that have expired and are not yet removed.
  public var expiredCount = 0
  /// The number of downloads that were interrupted and can be resumed.
  public var partialCount = 0
  /// The size of these downloads.
  public var partialByteCount: Int64 = 0
  /// The number of records that jobs pin.
  package var pinnedCount = 0
  /// What these take, about.
  package var pinnedByteCount: Int64 = 0
  /// The size of the store: the records, the downloads and the indexes.
  public var occupiedByteCount: Int64 = 0
  /// The size that the store may have; `nil` without a store.
  public var budgetByteCount: Int64?
  /// The size that the disk permits; `nil` if that is above the budget.
  public var diskByteCount: Int64?
  /// When the oldest record was stored; `nil` without records.
  public var oldestStoredAt: Date?
  /// `nil` if this process may not read them.
  public var counters: Counters?
  /// The size of the store's file.
  public var fileByteCount: Int64 = 0
  /// The size of what the file contains and the store does not use.
  public var freeByteCount: Int64 = 0
  /// The number of pages of that size.
  package var freePageCount = 0
  /// The address space that is reserved for the file.
  package var mapByteCount: Int64 = 0

  /// Statistics of an empty store.
  public init() {}
}

extension CacheStatistics {
  init(_ statistics: StoreStatistics) {
    let summary = statistics.summary
    recordCount = summary.entryCount
    byteCount = statistics.thumbnailByteCount
    expiredCount = statistics.expiredCount
    partialCount = statistics.partialCount
    partialByteCount = statistics.partialByteCount
    pinnedCount = statistics.pinned.recordCount
    pinnedByteCount = statistics.pinned.byteCount
    occupiedByteCount = summary.occupiedByteCount
    budgetByteCount = summary.budgetByteCount
    diskByteCount = summary.diskByteCount
    oldestStoredAt = statistics.oldestStoredAt.map(Date.init)
    counters = statistics.counters.map(Counters.init)
    fileByteCount = statistics.fileByteCount
    freeByteCount = statistics.freeByteCount
    freePageCount = statistics.freePageCount
    mapByteCount = statistics.mapByteCount
  }
}

extension CacheStatistics.Counters {
  fileprivate init(_ counters: StoreCounters) {
    hits = counters.hits
    misses = counters.misses
    stores = counters.stores
    evictions = counters.evictions
    expiredRemovals = counters.expiredRemovals
    damagedRemovals = counters.damagedRemovals
  }
}

/// The size of the store, and its limits.
package struct CacheSize: Hashable, Sendable {
  private let summary: StoreSummary

  init(_ summary: StoreSummary) {
    self.summary = summary
  }

  package var recordCount: Int { summary.entryCount }
  /// The bytes of all used pages.
  package var occupiedByteCount: Int64 { summary.occupiedByteCount }
  package var budgetByteCount: Int64 { summary.budgetByteCount }
  /// The limit of the disk; `nil` if it is above the budget.
  package var diskByteCount: Int64? { summary.diskByteCount }
  /// The maximum size of the store now.
  package var effectiveBudgetByteCount: Int64 { summary.effectiveBudgetByteCount }
}

/// A record or an index entry of the store that is damaged or contradicts others. Its description is a
/// line for people.
package struct CacheDefect: Sendable, Encodable, CustomStringConvertible {
  private let defect: StoreDefect

  init(_ defect: StoreDefect) {
    self.defect = defect
  }

  package var description: String { "\(defect)" }

  package func encode(to encoder: any Encoder) throws {
    try defect.encode(to: encoder)
  }
}
