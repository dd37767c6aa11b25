import ImgModel
import ImgWire

/// Transfers and the leases attached to them, and decodes.
extension Scheduler {
  /// The item's lease begins a transfer, whose slots have been taken.
  mutating func beginTransfer(of waiting: WorkItem, by worker: WorkerID) -> Lease.Granted {
    guard let source = waiting.source else {
      preconditionFailure("what waits for a transfer has a source")
    }
    serve(waiting.urgency)
    let lease = fetches.begin(
      of: source, by: worker, for: waiting.id, at: waiting.url, now: now.instant)
    workers.hold(lease, as: .transfer, by: worker)
    return grant(lease, to: worker, for: waiting.id, stage: .transferring(lease))
  }

  /// The item's lease begins the decode of a picture that is on the machine. No other item joins:
  /// each variant finds an original by its own look-up.
  mutating func beginDecode(of waiting: WorkItem, by worker: WorkerID) -> Lease.Granted {
    serve(waiting.urgency)
    let lease = fetches.leases.grantDecode(of: waiting.id, to: worker, at: now.instant)
    workers.hold(lease, as: .decode, by: worker)
    return grant(lease, to: worker, for: waiting.id, stage: .decoding(lease))
  }

  private mutating func grant(
    _ lease: LeaseID, to worker: WorkerID, for id: WorkID, stage: WorkItem.Stage
  ) -> Lease.Granted {
    work.change(id) { $0.noteFetch() }
    move(id, to: stage)
    let item = work.item(id)
    noteUpdates(item.updates, of: id)
    return Lease.Granted(item: item, lease: lease, worker: worker)
  }

  /// The item is attached to a transfer, without a slot of its own, if its worker takes one more
  /// lease; else it waits until one of the transfer's leases has ended.
  mutating func attach(_ waiting: WorkItem, to id: TransferID) {
    guard let transfer = fetches.transfers[id], !isDraining,
      workers[transfer.worker]?.takesFetchLeases == true
    else { return }
    let worker = transfer.worker
    let isBodyIn = transfer.state == .ended
    serve(waiting.urgency)
    let lease = fetches.attach(waiting.id, to: id, by: worker, at: now.instant)
    workers.hold(lease, as: isBodyIn ? .decode : .attached, by: worker)
    let granted = grant(
      lease, to: worker, for: waiting.id, stage: isBodyIn ? .decoding(lease) : .transferring(lease))
    if transfer.isWaitingAfterRedirect { queueRedirected(id) }
    var batches = BatchCollector()
    batches.add(granted)
    effects += batches.messages { .attach($0) }
  }

  /// The last byte is in: other URLs may use the slots, and all leases wait for the decoder, also
  /// those that the worker did not know of when it said so.
  ///
  /// - Precondition: the transfer is receiving.
  mutating func endReceiving(_ id: TransferID) {
    for (lease, held) in fetches.endReceiving(id, at: now.instant) {
      workers.bodyArrived(for: lease, at: held.worker)
      move(held.item, to: .decoding(lease))
    }
  }

  /// A transfer whose leases all belong to aborted items cannot be joined.
  mutating func stopJoiningAborted(_ id: TransferID) {
    let isAborted = fetches.transfers[id]?.leases.allSatisfy { lease in
      fetches.leases[lease].flatMap { work[$0.item] }?.waiters.isEmpty ?? true
    }
    if isAborted == true { fetches.stopJoining(id) }
  }

  // MARK: - The end of leases

  /// Ends a lease that its worker has answered.
  ///
  /// - Returns: the item; `nil` when the lease is not the worker's any more: the answer is late.
  mutating func endLease(_ id: LeaseID, of worker: WorkerID) -> WorkID? {
    guard let item = fetches.end(id, of: worker, at: now.instant) else { return nil }
    workers.release(id, of: worker)
    return item
  }

  /// Ends a lease of a worker that has exited.
  ///
  /// - Precondition: the worker held the lease when it exited.
  mutating func endLease(_ id: LeaseID, ofExited worker: WorkerID) -> WorkID {
    guard let item = fetches.end(id, of: worker, at: now.instant) else {
      preconditionFailure("\(id) was not held by \(worker)")
    }
    return item
  }
}
