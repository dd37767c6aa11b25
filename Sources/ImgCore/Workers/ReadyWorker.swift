import ImgWire

/// A worker that takes work, and what it holds.
struct ReadyWorker {
  let id: WorkerID
  let slot: Int
  let credits: Credits
  var lookups: Set<LeaseID> = []
  var fetches: Set<LeaseID> = []
  /// Why the watchdog has told it to end; its exit is on the way.
  var condemnation: Condemnation?

  enum Condemnation: Equatable {
    /// Its loop did not run; nobody is to blame.
    case hung
    /// This lease's picture took too long to decode.
    case decodeTimeout(LeaseID)
  }

  var takesLookups: Bool { condemnation == nil && lookups.count < credits.lookups }
  var takesFetches: Bool { condemnation == nil && fetches.count < credits.fetches }
}
