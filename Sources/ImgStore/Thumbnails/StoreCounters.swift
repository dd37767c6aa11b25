/// What happened to a store, of every process that may write the file `uses`, since that was
/// created.
package struct StoreCounters: Hashable, Sendable {
  /// Keys looked up that were given out.
  package internal(set) var hits: UInt64 = 0
  /// Keys looked up that were absent, expired or damaged.
  package internal(set) var misses: UInt64 = 0
  /// Thumbnails put.
  package internal(set) var stores: UInt64 = 0
  /// Records that were still good, removed to stay within the budget.
  package internal(set) var evictions: UInt64 = 0
  /// Records removed because they had expired.
  package internal(set) var expiredRemovals: UInt64 = 0
  /// Records removed because they were damaged.
  package internal(set) var damagedRemovals: UInt64 = 0

  /// The share of hits among the keys looked up, from 0 to 1; `nil` before there were any.
  package var hitRate: Double? {
    let lookups = Double(hits) + Double(misses)
    return lookups > 0 ? Double(hits) / lookups : nil
  }

  mutating func countRemoval(of staleness: StoreLookup.Staleness) {
    switch staleness {
    case .expired: expiredRemovals += 1
    case .corrupt: damagedRemovals += 1
    }
  }
}
