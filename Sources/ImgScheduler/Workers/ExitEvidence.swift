import ImgModel

/// What is known of a worker's exit, and what it says about the pictures that the worker held.
struct ExitEvidence {
  /// What a lease had to do with the exit.
  enum Part {
    /// Nothing, or nothing that can be told.
    case none
    /// The worker was killed because it read this picture's file for too long.
    case hungRead
    /// The worker was lost, maybe over this fetch.
    case lost
    /// The worker held it when it ended.
    case held
  }

  let worker: ReadyWorker
  let end: WorkerEnd
  /// The leases that the worker was told to end for.
  let suspects: Set<LeaseID>
  /// Whether a damaged store explains the exit.
  let isStoreSuspect: Bool

  func part(of lease: LeaseID) -> Part {
    guard worker.fetches.contains(lease) else { return .none }
    if worker.killReason == .hungRead(lease) { return .hungRead }
    if suspects.contains(lease) { return .lost }
    if isStoreSuspect { return .none }
    // It has given the reason for its end, which is no fetch.
    return end.isCrash && !worker.hasRefused ? .lost : .held
  }

  /// The predicate of a sentence whose subject is the worker.
  var lossReason: String {
    switch (end, worker.killReason) {
    case (.crashed(let how), _), (.crashedInStore(let how), _): how
    case (.left, .hung), (.killed, .hung): "ended, because its loop hung in this transfer"
    case (.left, _), (.killed, _): "ended, because its answer was long overdue"
    }
  }
}

extension WorkerEnd {
  fileprivate var isCrash: Bool {
    switch self {
    case .crashed, .crashedInStore: true
    case .left, .killed: false
    }
  }

  /// The predicate of a sentence whose subject is the worker.
  var reason: String {
    switch self {
    case .left: "left"
    case .crashed(let how), .crashedInStore(let how), .killed(let how): how
    }
  }
}
