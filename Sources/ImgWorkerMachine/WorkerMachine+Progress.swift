import ImgModel
import ImgWire

/// The progress of bodies, for clients that want it.
///
/// News wait for ``progressInterval``, so that one message has those of all leases. A body that comes in
/// within that time is reported once, at its end.
extension WorkerMachine {
  static let progressInterval = Duration.milliseconds(100)

  /// Has the progress of the order's body reported. The facts of a picture are read from a few parts of it.
  mutating func planProgress(of order: FetchOrder) {
    guard order.request.keep.part.isWhole else { return }
    transfers.planProgress(for: order.lease, of: transfers.transfer(of: order.lease))
    planProgressReport()
  }

  mutating func planProgressReport() {
    if progressDeadline == nil, transfers.hasProgress {
      progressDeadline = now.instant + Self.progressInterval
    }
  }

  /// Whether progress has waited long enough.
  var isProgressDue: Bool { progressDeadline.map { $0 <= now.instant } ?? false }

  /// Reports what has waited long enough.
  mutating func reportProgress() {
    guard isProgressDue else { return }
    progressDeadline = nil
    report.progress += transfers.takeProgress()
  }

  /// All of a body is in: its leases are told at once.
  mutating func reportWhole(_ facts: BodyFacts, of id: TransferID) {
    transfers.bodyGrew(
      id,
      to: BodyProgress(
        receivedByteCount: facts.byteCount, expectedByteCount: facts.declaredByteCount))
    report.progress += transfers.takeProgress(of: id)
  }
}
