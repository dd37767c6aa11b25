package import ImgModel

/// A worker's hold on a work item.
package struct Lease {
  /// What the worker does for the item.
  package enum Purpose: Hashable {
    case lookup
    /// A fetch. The lease started this transfer, or is attached to it.
    case transfer(TransferID)
    /// The decode of a picture that is on the machine: an upload, the original in the store, or a
    /// `data:` or `file:` URL.
    case decode
  }

  package let item: WorkID
  package let worker: WorkerID
  package let purpose: Purpose
  /// Since when the item is in its stage.
  package private(set) var since: ContinuousClock.Instant

  init(
    item: WorkID, worker: WorkerID, purpose: Purpose, since: ContinuousClock.Instant
  ) {
    self.item = item
    self.worker = worker
    self.purpose = purpose
    self.since = since
  }

  /// The transfer that the item is made from; `nil` for a look-up or a decode.
  package var transfer: TransferID? {
    if case .transfer(let transfer) = purpose { transfer } else { nil }
  }

  /// The item enters another stage.
  mutating func enterStage(at now: ContinuousClock.Instant) { since = now }
}

extension Lease {
  /// A lease on its way to its worker.
  struct Granted {
    let item: WorkItem
    let lease: LeaseID
    let worker: WorkerID
  }
}
