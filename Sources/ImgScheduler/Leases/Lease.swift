package import ImgModel

/// A worker's hold on a work item.
package struct Lease {
  package let item: WorkID
  package let worker: WorkerID
  /// The transfer that the item is made from; `nil` for a look-up.
  package let transfer: TransferID?
  /// Since when the item is in its stage.
  package internal(set) var since: ContinuousClock.Instant
}

extension Lease {
  /// A lease on its way to its worker.
  struct Granted {
    let item: WorkItem
    let lease: LeaseID
    let worker: WorkerID
  }
}
