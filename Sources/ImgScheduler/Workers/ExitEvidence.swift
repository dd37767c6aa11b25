import ImgModel

/// What is known of a worker's exit, and what it says about the pictures that the worker held.
struct ExitEvidence {
  /// What a lease had to do with the exit.
  enum Part {
    /// Nothing, or nothing that can be told.
    case none
    /// Its picture was on the decoder.
    case decoded
    /// The worker was lost, maybe over this fetch.
    case lost
    /// The worker held it when it ended.
    case held
  }

  let worker: ReadyWorker
  let end: WorkerEnd
  /// The lease that was being decoded, as the worker's heartbeat page shows.
  let decoding: LeaseID?
  /// The leases that the worker was told to end for.
  let suspects: Set<LeaseID>
  /// Whether a damaged store explains the exit.
  let isStoreSuspect: Bool

  func part(of lease: LeaseID) -> Part {
    let isFetch = worker.fetches.contains(lease)
    if isFetch, suspects.contains(lease) { return .lost }
    guard isFetch, !isStoreSuspect else { return .none }
    if lease == decoding, !end.isInStore { return .decoded }
    if end.isCrash, end.isInStore || decoding == nil { return .lost }
    return .held
  }

  /// Whether the worker was killed because this item's picture took too long to decode.
  func isDecodeTimeout(of item: WorkItem) -> Bool {
    guard case .decodeTimeout(let lease) = worker.killReason else { return false }
    return lease == item.stage.lease
  }

  /// Whether the exit may be due to the picture on the decoder: not where the worker was killed for
  /// another reason.
  func isAttributable(_ item: WorkItem) -> Bool {
    switch (worker.killReason, end) {
    case (.hung, _), (.overdue, _), (.decodeTimeout, .killed), (_, .left): false
    case (.decodeTimeout, _): !isDecodeTimeout(of: item)
    case (nil, _): true
    }
  }

  /// The predicate of a sentence whose subject is the worker.
  var lossReason: String {
    switch (end, worker.killReason) {
    case (.crashed(let how), _), (.crashedInStore(let how), _), (.ranOutOfMemory(let how), _): how
    case (.left, .hung), (.killed, .hung): "ended, because its loop hung in this transfer"
    case (.left, _), (.killed, _): "ended, because its answer was long overdue"
    }
  }
}

extension WorkerEnd {
  fileprivate var isInStore: Bool { if case .crashedInStore = self { true } else { false } }

  fileprivate var isCrash: Bool {
    switch self {
    case .crashed, .crashedInStore, .ranOutOfMemory: true
    case .left, .killed: false
    }
  }

  /// The predicate of a sentence whose subject is the worker.
  var reason: String {
    switch self {
    case .left: "left"
    case .crashed(let how), .crashedInStore(let how), .ranOutOfMemory(let how), .killed(let how):
      how
    }
  }
}
