import ImgStore
import ImgWire

/// What `imgctl cache stat --json` prints of the store.
struct StoreReport: Encodable {
  private let entries: Int
  private let expired: Int
  private let thumbnailBytes: Int64
  private let occupiedBytes: Int64
  private let budgetBytes: Int64
  private let oldestStoredAt: WallTime?

  private enum CodingKeys: String, CodingKey {
    case entries, expired
    case thumbnailBytes = "thumbnail_bytes"
    case occupiedBytes = "occupied_bytes"
    case budgetBytes = "budget_bytes"
    case oldestStoredAt = "oldest_stored_at"
  }

  init(_ statistics: StoreStatistics) {
    entries = statistics.summary.entryCount
    expired = statistics.expiredCount
    thumbnailBytes = statistics.thumbnailByteCount
    occupiedBytes = statistics.summary.occupiedByteCount
    budgetBytes = statistics.summary.budgetByteCount
    oldestStoredAt = statistics.oldestStoredAt
  }
}
