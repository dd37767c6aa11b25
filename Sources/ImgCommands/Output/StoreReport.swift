import FoundationEssentials
import ImgClient
import ImgModel

/// What `imgctl cache stat --json` prints.
struct StoreReport: Encodable {
  private let entries: Int
  private let expired: Int
  private let thumbnailBytes: Int64
  private let partials: Int
  private let partialBytes: Int64
  private let pinned: Int
  private let pinnedBytes: Int64
  private let occupiedBytes: Int64
  private let budgetBytes: Int64?
  private let oldestStoredAt: WallTime?
  private let hits: UInt64?
  private let misses: UInt64?
  private let hitRate: Double?
  private let stores: UInt64?
  private let evictions: UInt64?
  private let expiredRemovals: UInt64?
  private let damagedRemovals: UInt64?
  private let freePages: Int
  private let freeBytes: Int64
  private let fileBytes: Int64
  private let mapBytes: Int64

  private enum CodingKeys: String, CodingKey {
    case entries, expired, partials, pinned, hits, misses, stores, evictions
    case pinnedBytes = "pinned_bytes"
    case partialBytes = "partial_bytes"
    case thumbnailBytes = "thumbnail_bytes"
    case occupiedBytes = "occupied_bytes"
    case budgetBytes = "budget_bytes"
    case oldestStoredAt = "oldest_stored_at"
    case hitRate = "hit_rate"
    case expiredRemovals = "expired_removals"
    case damagedRemovals = "damaged_removals"
    case freePages = "free_pages"
    case freeBytes = "free_bytes"
    case fileBytes = "file_bytes"
    case mapBytes = "map_bytes"
  }

  /// - Parameter statistics: `nil` if there is no store; it then counts as empty and has no budget.
  init(_ statistics: CacheStatistics?) {
    entries = statistics?.recordCount ?? 0
    expired = statistics?.expiredCount ?? 0
    thumbnailBytes = statistics?.byteCount ?? 0
    partials = statistics?.partialCount ?? 0
    partialBytes = statistics?.partialByteCount ?? 0
    pinned = statistics?.pinnedCount ?? 0
    pinnedBytes = statistics?.pinnedByteCount ?? 0
    occupiedBytes = statistics?.occupiedByteCount ?? 0
    budgetBytes = statistics?.budgetByteCount
    oldestStoredAt = statistics?.oldestStoredAt.map { WallTime($0) }
    let counters = statistics?.counters
    hits = counters?.hits
    misses = counters?.misses
    hitRate = counters?.hitRate
    stores = counters?.stores
    evictions = counters?.evictions
    expiredRemovals = counters?.expiredRemovals
    damagedRemovals = counters?.damagedRemovals
    freePages = statistics?.freePageCount ?? 0
    freeBytes = statistics?.freeByteCount ?? 0
    fileBytes = statistics?.fileByteCount ?? 0
    mapBytes = statistics?.mapByteCount ?? 0
  }
}
