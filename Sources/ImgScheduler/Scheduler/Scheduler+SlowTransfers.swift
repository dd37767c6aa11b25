import ImgModel
import ImgWire

/// Transfers that are slow, see ``SlowTransfers``.
extension Scheduler {
  /// A worker tells which of its transfers have turned slow, and which are slow no more.
  mutating func noteSlowTransfers(_ updates: HostUpdates, by worker: WorkerID) {
    for id in updates.slow {
      guard let transfer = receiving(id, by: worker) else { continue }
      let isForViewer = transfer.leases.contains { lease in
        leases[lease].flatMap { work[$0.item] }?.waiters.contains { $0.viewer != nil } == true
      }
      workers.setSlow(true, id, of: worker)
      transferQueue.turnedSlow(
        id, host: transfer.host, isForViewer: isForViewer, at: now.instant)
    }
    for id in updates.fast {
      guard let transfer = receiving(id, by: worker) else { continue }
      workers.setSlow(false, id, of: worker)
      transferQueue.turnedFast(id, host: transfer.host, at: now.instant)
    }
  }

  /// - Returns: `nil` for a transfer that is over, or was given up.
  private func receiving(_ id: TransferID, by worker: WorkerID) -> LeasedTransfer? {
    transfers[id].flatMap { $0.worker == worker && $0.holdsSlot && $0.refusal == nil ? $0 : nil }
  }

  /// Ends the slow transfers that others displace.
  mutating func endDisplaced() {
    for id in transferQueue.takeDisplaced() {
      let failure = Failure(
        stage: .fetch, code: .timeout,
        detail: "the transfer was slow, and many slow ones of its hosts held others up")
      cancelLeases(of: transfers.displace(id, because: failure), id)
    }
  }
}
