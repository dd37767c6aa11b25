import ImgWire

/// Names a source: the first of its items.
struct SourceID: Hashable {
  let rawValue: UInt64
}

/// A picture that has to be fetched: what its variants share, so that it is fetched once for all of
/// them. Lives as long as one of its items.
struct Source {
  /// One name may stand for URLs at several hosts, each with its own limits.
  struct Key: Hashable {
    let name: PictureName
    let host: String
  }

  let id: SourceID
  let key: Key
  /// Its items, in the order in which they came.
  var members: [WorkID] = []
  /// Whether it waits for a transfer of its own.
  var isQueued = false
  /// The transfer that others may still ride on: its body is on its way, or held by its worker.
  var joinable: LeaseID?
  /// Transfers of it that failed.
  var attempts = 0
  /// When the first of them did.
  var firstFailedAt: ContinuousClock.Instant?
  /// When it may be queued again; `nil` when it may be now.
  var retryAt: ContinuousClock.Instant?
  /// Workers that crashed while they decoded this picture.
  var crashCount = 0
  /// Workers killed from outside while they decoded this picture.
  var killCount = 0
  /// Workers that crashed outside of a decode while they held this fetch.
  var lossCount = 0
  /// Workers that ended, for whatever reason, while they held this fetch.
  var deathCount = 0
}

/// A fetch under way or being decoded, or the decode of an original, named by the lease that began
/// it.
struct Transfer {
  let source: SourceID
  let worker: WorkerID
  let host: String
  /// Every lease that lives on it, each of another variant.
  var leases: [LeaseID]
  /// Whether its last byte is still to come, so that it has a place of the cluster and of its host.
  var holdsPlace: Bool
  /// Whether its origin is asked for a body: an original is decoded from the store.
  let asksOrigin: Bool
  /// Whether it has failed and its URL is tried again; `nil` while it has not failed.
  var isRetried: Bool?
  /// Whether its failure is known to its host's health.
  var isHealthNoted = false

  init(source: SourceID, worker: WorkerID, host: String, lease: LeaseID, asksOrigin: Bool) {
    self.source = source
    self.worker = worker
    self.host = host
    leases = [lease]
    holdsPlace = asksOrigin
    self.asksOrigin = asksOrigin
  }
}

/// A worker's hold on a work item.
struct Lease {
  let item: WorkID
  let worker: WorkerID
  /// The transfer on which it lives; `nil` for a look-up.
  let transfer: LeaseID?
  /// Since when it is in its stage.
  var since: ContinuousClock.Instant
}

extension Lease {
  /// A lease on its way to its worker.
  struct Granted {
    let item: WorkItem
    let lease: LeaseID
    let worker: WorkerID
  }
}
