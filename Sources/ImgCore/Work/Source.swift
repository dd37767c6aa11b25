import ImgModel

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
  /// What the last of them failed with.
  var lastFailure: Failure?
  /// When the first of them did.
  var firstFailedAt: ContinuousClock.Instant?
  /// When it may be queued again; `nil` when it may be now.
  var retryAt: ContinuousClock.Instant?
  /// Workers that crashed while they decoded this picture.
  var crashCount = 0
  /// Those of them that ran out of memory.
  var memoryCrashCount = 0
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
  enum State: Equatable {
    /// The last byte is still to come; it holds a slot of the cluster and one of its host.
    case receiving
    /// A redirect leads to another host, where it waits for a slot.
    case redirected
    /// The body is in, or there is none to come.
    case ended
  }

  let source: SourceID
  let worker: WorkerID
  /// The host that is asked, or waited for: of the URL, or of the last redirect.
  var host: String
  /// Where the redirect came from, which starts no other transfer in its place; `nil` in any other
  /// state.
  var redirectingHost: String?
  /// Every lease that lives on it, each of another variant.
  var leases: [LeaseID]
  var state: State
  /// Whether its origin is asked for a body: an original is decoded from the store.
  let asksOrigin: Bool
  /// Why it was given up while it waited for a slot; its leases are being cancelled.
  var refusal: Failure?
  /// Whether it has failed and its URL is tried again; `nil` while it has not failed.
  var isRetried: Bool?
  /// Whether its failure is known to its host's health.
  var isHealthNoted = false

  init(source: SourceID, worker: WorkerID, host: String, lease: LeaseID, asksOrigin: Bool) {
    self.source = source
    self.worker = worker
    self.host = host
    leases = [lease]
    state = asksOrigin ? .receiving : .ended
    self.asksOrigin = asksOrigin
  }

  /// Whether it holds a slot of the cluster and one of its host.
  var holdsSlot: Bool { state == .receiving }
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
