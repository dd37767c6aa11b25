/// The counters of a store, of all processes that may write ``AccessBits``, since that file was
/// created.
package struct StoreCounters: Hashable, Sendable {
  /// Look-ups that found a thumbnail.
  package internal(set) var hits: UInt64 = 0
  /// Look-ups of missing, expired or damaged records.
  package internal(set) var misses: UInt64 = 0
  /// Stored records.
  package internal(set) var stores: UInt64 = 0
  /// Valid records that were removed to stay within the budget.
  package internal(set) var evictions: UInt64 = 0
  /// Removed expired records.
  package internal(set) var expiredRemovals: UInt64 = 0
  /// Removed damaged records.
  package internal(set) var damagedRemovals: UInt64 = 0

  /// The share of hits among the look-ups, from 0 to 1; `nil` without look-ups.
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
