package import ImgModel

/// Describes a ``StoreShortage`` in words.
package struct ShortageText: Sendable {
  private let shortage: StoreShortage
  private let status: JobStatus

  /// - Returns: `nil` for a job that the store will probably hold.
  package init?(_ status: JobStatus) {
    guard let shortage = status.storeShortage else { return nil }
    self.shortage = shortage
    self.status = status
  }

  /// That the disk makes the store smaller than its budget.
  static func ofDisk(_ diskByteCount: Int64, budget budgetByteCount: Int64) -> String {
    "the disk has room for \(HumanText.size(diskByteCount)) of the store's budget of "
      + HumanText.size(budgetByteCount)
  }

  /// For the bar, such as `needs 480.0 MiB of a store of 400.0 MiB`.
  package var fact: String {
    "needs \(HumanText.size(shortage.neededByteCount)) of a store of "
      + HumanText.size(shortage.effectiveByteCount) + (shortage.isOfDisk ? " on a full disk" : "")
  }

  /// A warning with what can be done, in lines.
  package var warning: String {
    let limit =
      shortage.diskByteCount.map { Self.ofDisk($0, budget: shortage.budgetByteCount) }
      ?? "the store's budget is \(HumanText.size(shortage.budgetByteCount))"
    let consequence =
      status.pinPolicy == .none
      ? "later thumbnails will replace earlier ones" : "the job will wait when it is full"
    return """
      job \(status.job) needs about \(HumanText.size(shortage.neededByteCount)) of the store, but \
      \(limit): \(consequence)
      to make room: \(remedies.joined(separator: "; or "))

      """
  }

  private var remedies: [String] {
    var remedies = ["imgctl export \(status.job) DIR, repeatedly while the job runs"]
    remedies.append(
      shortage.isOfDisk
        ? "free space on the disk"
        : "imgctl stop, then imgctl start --store-budget \(sensibleBudget)")
    if status.pinPolicy != .none {
      remedies.append("imgctl unpin \(status.job), to keep only what comes last")
    }
    return remedies
  }

  /// With a tenth for what is not pinned, see ``StoreReport/pinLimit(of:)``, and another one for the estimate.
  private var sensibleBudget: String {
    "\(shortage.neededByteCount / (8 << 20) * 10 + 10)M"
  }
}
