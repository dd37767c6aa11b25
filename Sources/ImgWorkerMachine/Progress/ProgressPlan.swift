import ImgModel
import ImgWire

/// What the leases of one transfer are told of the progress of its body.
struct ProgressPlan {
  private var leases: [LeaseID] = []
  /// `nil` before the first byte.
  private var progress: BodyProgress?
  /// Bytes that all leases were told of.
  private var reportedByteCount = 0

  /// The lease wants progress. It is told what has arrived so far, and the others are told again.
  mutating func add(_ lease: LeaseID) {
    if !leases.contains(lease) { leases.append(lease) }
    reportedByteCount = 0
  }

  mutating func remove(_ lease: LeaseID) {
    leases.removeAll { $0 == lease }
  }

  mutating func bodyGrew(to progress: BodyProgress) {
    self.progress = progress
  }

  /// Whether more has arrived than the leases were told.
  var hasNews: Bool {
    !leases.isEmpty && (progress?.receivedByteCount ?? 0) > reportedByteCount
  }

  /// - Returns: what the leases are to be told; empty if nothing is new.
  mutating func takeNews() -> [ProgressReport.Entry] {
    guard hasNews, let progress else { return [] }
    reportedByteCount = progress.receivedByteCount
    return leases.map { ProgressReport.Entry(lease: $0, progress: progress) }
  }
}
