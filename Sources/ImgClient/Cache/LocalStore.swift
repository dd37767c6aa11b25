package import ImgModel
import ImgStore

/// The store of a data directory, as this process reads and changes it without the coordinator.
///
/// Calls block. They throw what describes itself in a sentence for people, see ``ErrorSummary``.
package struct LocalStore: Sendable {
  /// The store as this process sees it.
  package enum View: Sendable {
    case size(CacheSize)
    /// No store yet, or a damaged one, which a worker will recreate.
    case empty
    /// The reason why this process may not read it.
    case notPermitted(String)
  }

  package let directory: String
  /// Of a store that is recreated because it is damaged. Any other keeps its budget.
  private let budgetByteCount: Int64
  private let report: @Sendable (String) -> Void

  /// - Parameters:
  ///   - budgetByteCount: the budget of a store that is recreated because it is damaged.
  ///   - report: is given a sentence if a store is recreated.
  package init(
    directory: String, budgetByteCount: Int64,
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.directory = directory
    self.budgetByteCount = budgetByteCount
    self.report = report
  }

  /// - Returns: `nil` if there is no store yet.
  func reader() throws(StoreError) -> StoreReader? {
    try OpenStores.reader(of: directory)
  }

  /// Opens the store for writing. Readers in this process wait until `body` has returned.
  ///
  /// - Returns: `nil` if there is no store yet.
  func withWriter<Result: Sendable>(_ body: (SharedStore) throws -> Result) throws -> Result? {
    guard let budgetByteCount = try currentBudgetByteCount() else { return nil }
    return try OpenStores.whileClosed(directory) {
      try body(
        SharedStore(
          directory: directory, access: .readWrite(budgetByteCount: budgetByteCount)
        ) { [report] event in report("\(event)") })
    }
  }

  private func currentBudgetByteCount() throws(StoreError) -> Int64? {
    do throws(StoreError) {
      return try reader()?.summary().budgetByteCount
    } catch  where error.reason == .damaged {
      return budgetByteCount
    }
  }

  // MARK: - Facts

  package func view() throws -> View {
    do throws(StoreError) {
      guard let reader = try reader() else { return .empty }
      return .size(CacheSize(try reader.summary()))
    } catch {
      switch error.reason {
      case .damaged: return .empty
      case .notPermitted: return .notPermitted(error.description)
      default: throw error
      }
    }
  }

  /// - Returns: `nil` if there is no store yet.
  package func statistics() throws -> CacheStatistics? {
    try reader().map { reader in CacheStatistics(try reader.statistics()) }
  }

  /// How many records have expired at `moment` and are still there.
  package func expiredCount(at moment: WallTime) throws -> Int {
    try reader()?.expiredCount(at: moment) ?? 0
  }

  /// The records behind one, in the order of their keys.
  ///
  /// - Parameters:
  ///   - key: that of a record, which may be gone; `nil` for the first records.
  ///   - limit: the maximum number. Fewer mean the end of the list.
  /// - Throws: an ``ImageError`` if the key cannot be that of a record.
  func records(after key: String?, limit: Int) throws -> [StoredRecord] {
    let last = try key.map { text in
      guard let key = ContentKey(text) else {
        throw ImageError(invalidRequest: "\(text) is not the id of a record")
      }
      return key
    }
    return try reader()?.store.current().thumbnails(after: last, limit: limit)
      .map(StoredRecord.init) ?? []
  }

  /// The thumbnail that a record is; `nil` if it is not there, has expired, or is no thumbnail.
  func thumbnail(ofRecord key: String) throws -> StoredResult? {
    guard let key = ContentKey(key) else { return nil }
    return try reader()?.thumbnail(key).map(StoredResult.init)
  }

  /// Calls `body` with every record, also expired ones, until it returns `false`.
  package func forEachRecord(_ body: (StoredRecord) throws -> Bool) throws {
    try reader()?.forEach { try body(StoredRecord($0)) }
  }
}
