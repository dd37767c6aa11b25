import ImgModel
import ImgScheduler
import ImgWire

/// What the scheduler hears from workers with real machines, and what must hold between them.
extension ClusterModel {
  // MARK: - From workers

  /// The scheduler gets the oldest message that is on its way from the worker.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func hear(_ id: WorkerID, of fleet: WorkerFleet) -> Bool {
    guard let message = fleet.takeMessage(from: id) else { return false }
    switch message {
    case .hello, .refused: fail("\(id) does not begin: \(message)")
    case .ready(let credits): handle(.workerReady(id, credits))
    case .lookedUp(let results): handle(.workerLookedUp(id, results))
    case .hostUpdates(let updates): handle(.workerReportedHosts(id, updates))
    case .redirected(let list): handle(.workerRedirected(id, list.redirections))
    case .transferred(let list): handle(.workerTransferred(id, list.leases))
    case .released(let list): handle(.workerReleased(id, list.leases))
    case .finished(let results): handle(.workerFinished(id, results))
    case .uncached(let result):
      lastFile += 1
      handle(.workerMadeUncached(id, result, MemoryFileID(rawValue: lastFile)))
    case .preview(let preview):
      lastFile += 1
      handle(.workerMadePreview(id, preview, MemoryFileID(rawValue: lastFile)))
    case .progress(let list): handle(.workerReportedProgress(id, list.entries))
    case .unpinned(let list): handle(.workerUnpinned(id, list.leases))
    case .store(let report): handle(.storeReported(report))
    case .startDecoder, .endDecoder, .sandboxed: fail("a machine has no decoders: \(message)")
    }
    return true
  }

  // MARK: - Invariants

  /// The scheduler and its workers agree on who does what.
  func checkFleet(_ fleet: WorkerFleet, after event: Event) {
    for id in fleet.ids {
      let held = fleet.leases(of: id)
      let known = scheduler.workers[id].map { $0.lookups.union($0.fetches) } ?? []
      if Set(held).count != held.count { fail("\(id) holds a lease twice", after: event) }
      if Set(held) != known {
        let difference = known.symmetricDifference(held).sorted()
        fail("\(id) and the scheduler differ over leases \(difference)", after: event)
      }
      checkRequests(of: id, fleet, after: event)
    }
  }

  /// What asks a host has a slot there. A transfer without leases is about to be aborted.
  private func checkRequests(of id: WorkerID, _ fleet: WorkerFleet, after event: Event) {
    for (name, host) in fleet.requests(of: id) {
      guard let transfer = scheduler.transfers[name] else { continue }
      if !transfer.holdsSlot { fail("transfer \(name) asks \(host) without a slot", after: event) }
      if transfer.host != host {
        fail("transfer \(name) asks \(host), not \(transfer.host)", after: event)
      }
    }
  }
}
