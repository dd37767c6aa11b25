/// That a job will probably store more than the store holds.
package struct StoreShortage: Hashable, Sendable, Codable {
  /// What all lines of the job will take: their number times the mean so far, or an assumed size before the
  /// first is stored.
  package let neededByteCount: Int64
  /// The budget of the settings.
  package let budgetByteCount: Int64
  /// The limit of the disk; `nil` if it is above the budget.
  package let diskByteCount: Int64?

  /// - Parameter store: `nil` while no worker has reported it.
  /// - Returns: `nil` if the store is large enough.
  package init?(_ job: JobRecord, store: StoreReport?, budgetByteCount: Int64) {
    guard job.isActive, job.options.keep != .none else { return nil }
    let counts = job.counts
    let lineCount = counts.total - counts.failed - counts.cancelled
    self.budgetByteCount = store?.budgetByteCount ?? budgetByteCount
    diskByteCount = store?.diskByteCount
    let (needed, isHuge) = Self.footprint(of: job).multipliedReportingOverflow(by: Int64(lineCount))
    neededByteCount = isHuge ? .max : needed
    let limit = StoreReport.pinLimit(of: diskByteCount ?? self.budgetByteCount)
    guard neededByteCount > limit else { return nil }
  }

  /// Whether the disk and not the budget is the limit.
  package var isOfDisk: Bool { diskByteCount != nil }

  /// The maximum size of the store now.
  package var effectiveByteCount: Int64 { diskByteCount ?? budgetByteCount }

  /// What the results of a line take in the mean.
  private static func footprint(of job: JobRecord) -> Int64 {
    let (options, counts) = (job.options, job.counts)
    let storedCount = counts.done - counts.fromCache
    let first =
      storedCount > 0 ? counts.bytesStored / Int64(storedCount) : assumedByteCount(of: options)
    guard options.keep == .thumbnail else { return StoreReport.footprint(ofRecord: first) }
    let area = max(options.variant.area, 1)
    return ([options.variant] + options.otherVariants).reduce(0) { sum, variant in
      sum + StoreReport.footprint(ofRecord: first * variant.area / area)
    }
  }

  /// A picture of 256x256 has 7 KB in the mean as a thumbnail, some hundred KB as its original, and one KB as
  /// facts.
  private static func assumedByteCount(of options: RequestOptions) -> Int64 {
    switch options.keep {
    case .none, .facts, .allFacts, .pixelFacts: 1_024
    case .thumbnail: max(1_024, options.variant.area * 7_000 / (256 * 256))
    case .original, .all: 512 << 10
    }
  }

  private enum CodingKeys: String, CodingKey {
    case neededByteCount = "needed_bytes"
    case budgetByteCount = "budget_bytes"
    case diskByteCount = "disk_bytes"
  }
}

extension Variant {
  /// The pixels of the box.
  fileprivate var area: Int64 { Int64(width) * Int64(height) }
}
