package import ImgModel

/// What clients are told of pictures while their bodies arrive: previews and progress.
///
/// The coordinator says which leases want what. It changes nothing of the leases.
extension WorkerMachine {
  /// The transfers of whose bodies clients want previews or progress. The driver reports how far these
  /// bodies are.
  package var watchedTransfers: Set<TransferID> { transfers.watched }

  /// Clients want to be told of the picture of a lease while it arrives.
  mutating func want(_ updates: ArrivalUpdates, of lease: LeaseID) {
    guard tasks.contains(lease) else { return }
    tasks.update(lease) { $0.updates.formUnion(updates) }
    planUpdates(of: lease)
  }

  /// Plans what clients want of the lease, if it is attached to a transfer whose body is arriving.
  mutating func planUpdates(of lease: LeaseID) {
    let task = tasks[lease]
    guard case .transferring = task.stage else { return }
    if task.updates.contains(.previews) { planPreviews(of: task.order) }
    if task.updates.contains(.progress) { planProgress(of: task.order) }
  }

  mutating func bodyGrew(_ id: TransferID, to progress: BodyProgress) {
    transfers.bodyGrew(id, to: progress)
    planProgressReport()
    startPreview()
  }
}
