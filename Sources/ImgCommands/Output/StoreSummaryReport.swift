import ImgClient

/// What `imgctl status --json` prints about the store.
struct StoreSummaryReport: Encodable, Equatable {
  private let entries: Int
  private let occupiedBytes: Int64
  private let budgetBytes: Int64
  private let effectiveBudgetBytes: Int64

  private enum CodingKeys: String, CodingKey {
    case entries
    case occupiedBytes = "occupied_bytes"
    case budgetBytes = "budget_bytes"
    case effectiveBudgetBytes = "effective_budget_bytes"
  }

  init(_ size: CacheSize) {
    entries = size.recordCount
    occupiedBytes = size.occupiedByteCount
    budgetBytes = size.budgetByteCount
    effectiveBudgetBytes = size.effectiveBudgetByteCount
  }
}
