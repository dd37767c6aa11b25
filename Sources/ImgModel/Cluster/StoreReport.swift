/// The size of the store and its limits, as a worker sees them.
package struct StoreReport: Hashable, Sendable, Codable {
  /// The budget of the settings.
  package let budgetByteCount: Int64
  /// The limit of the disk; `nil` if it is above the budget.
  package let diskByteCount: Int64?
  /// What pinned records take, see ``footprint(ofRecord:)``.
  package let pinnedByteCount: Int64
  /// Jobs that pin records, those with the lowest numbers; at most ``maximumJobCount``.
  package let pinningJobs: [JobID]

  package static let maximumJobCount = 256

  package init(
    budgetByteCount: Int64, diskByteCount: Int64?, pinnedByteCount: Int64, pinningJobs: [JobID]
  ) {
    self.budgetByteCount = budgetByteCount
    self.diskByteCount = diskByteCount
    self.pinnedByteCount = pinnedByteCount
    self.pinningJobs = pinningJobs
  }

  /// The maximum size of the store now.
  package var effectiveByteCount: Int64 { diskByteCount ?? budgetByteCount }

  /// What pinned records may take of a budget. The rest is for the indexes, and for what is not pinned.
  package static func pinLimit(of budgetByteCount: Int64) -> Int64 { budgetByteCount / 10 * 9 }

  /// Whether jobs that wait for room may go on. There must be room for more than the few pictures that are
  /// under way at once, so that jobs do not stop and go on with each picture.
  package var hasRoomForPins: Bool {
    pinnedByteCount < Self.pinLimit(of: effectiveByteCount) / 20 * 19
  }

  /// What a record of so many bytes takes in the store, about: whole pages of 4 KiB, with the URL and the
  /// header, or for a small one a part of a page that is shared.
  package static func footprint(ofRecord byteCount: Int64) -> Int64 {
    let recordByteCount = byteCount + 400
    guard recordByteCount > 2_000 else { return recordByteCount / 2 * 3 }
    return (recordByteCount + 4_095) / 4_096 * 4_096
  }

  private enum CodingKeys: String, CodingKey {
    case budgetByteCount = "budget_bytes"
    case diskByteCount = "disk_bytes"
    case pinnedByteCount = "pinned_bytes"
    case pinningJobs = "pinning_jobs"
  }
}
