import FoundationEssentials
import ImgStore

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
