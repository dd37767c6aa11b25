import ImgStore

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
