import ImgWire

/// A worker process as the coordinator sees it: what it was told and has not answered.
struct WorkerModel {
  /// A `fetch` lease.
  struct Fetch {
    let lease: LeaseID
    let url: String
    let expireAfterMilliseconds: Int64?
  }

  let id: WorkerID
  let slot: Int
  var isReady = false
  var lookups: [Batch] = []
  var fetches: [Fetch] = []
  var cancelled: [LeaseID] = []
  var isDraining = false

  /// Every lease it holds.
  var leases: [LeaseID] {
    lookups.flatMap { $0.items.map(\.lease) } + fetches.map(\.lease)
  }
}
