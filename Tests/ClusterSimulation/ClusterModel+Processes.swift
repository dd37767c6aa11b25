import ImgModel
import ImgScheduler
import ImgWire

/// The processes of workers, be they models or with real machines.
extension ClusterModel {
  /// The workers that live, the oldest first.
  var livingWorkers: [WorkerID] { fleet?.ids ?? workers.keys.sorted() }

  /// Whether the worker was spawned and its exit is not handled.
  func hasProcess(_ id: WorkerID) -> Bool { fleet?.contains(id) ?? (workers[id] != nil) }

  func isReady(_ id: WorkerID) -> Bool { fleet?.isReady(id) ?? workers[id]?.isReady ?? false }

  func spawn(_ id: WorkerID, number: Int) {
    if let fleet { return fleet.spawn(id, at: now) }
    workers[id] = WorkerModel(id: id, number: number)
    if areWorkersReadyAtOnce { becomingReady.append(id) }
  }

  func ready(_ id: WorkerID) {
    if let fleet { return fleet.makeReady(id, credits) }
    guard workers[id] != nil else { return }
    workers[id]?.isReady = true
    process(.workerReady(id, credits))
  }

  /// The process is gone. What a real machine sent before is heard first.
  ///
  /// - Parameter transferringLease: the name of the transfer that the heartbeat page of the dead
  ///   worker shows.
  func exit(_ id: WorkerID, _ end: WorkerEnd, transferringLease: LeaseID?) {
    fleet?.end(id)
    handle(.workerExiting(id))
    if let fleet { while hear(id, of: fleet) {} }
    fleet?.remove(id)
    workers[id] = nil
    killed.removeAll { $0 == id }
    handle(.workerExited(id, end, transferring: transferringLease))
  }

  // MARK: - Heartbeat pages

  /// The leases that the worker may be decoding, the oldest first.
  func decodes(of id: WorkerID) -> [LeaseID] {
    fleet?.decodes(of: id) ?? workers[id]?.fetches.map(\.lease) ?? []
  }

  /// The leases that name the transfers that the worker receives, the oldest first.
  func receivingTransfers(of id: WorkerID) -> [LeaseID] {
    fleet?.requests(of: id).map { LeaseID(rawValue: $0.transfer.rawValue) }
      ?? workers[id]?.receiving.map(\.id) ?? []
  }
}
