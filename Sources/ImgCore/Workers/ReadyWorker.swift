import ImgModel
import ImgWire

/// A worker that takes work, and what it holds.
struct ReadyWorker {
  let id: WorkerID
  let slot: Int
  let credits: Credits
  var lookups: Set<LeaseID> = []
  /// Leases of fetches and of rides.
  var fetches: Set<LeaseID> = []
  /// Those of them that ride on a body that is still on its way: they cost it nothing yet.
  var rides: Set<LeaseID> = []
  /// Those of them whose body is in: they wait for the decoder, or for the store.
  var decodes: Set<LeaseID> = []
  private var window = FetchWindow()
  /// When it last told of something looked up or finished; `nil` before the first time.
  var lastAnswerAt: ContinuousClock.Instant?
  /// Why the watchdog has told it to end; its exit is on the way.
  var condemnation: Condemnation?

  init(id: WorkerID, slot: Int, credits: Credits) {
    self.id = id
    self.slot = slot
    self.credits = credits
  }

  enum Condemnation: Equatable {
    /// Its loop did not run. To blame is the transfer that the loop was working on, if there is one.
    case hung
    /// It owes answers that it should have given long ago, and these are to blame for it.
    case overdue(Set<LeaseID>)
    /// This lease's picture took too long to decode.
    case decodeTimeout(LeaseID)
  }

  /// What it was told to end for, because it would not come to an end of it.
  var blamedLeases: Set<LeaseID> {
    if case .overdue(let leases) = condemnation { leases } else { [] }
  }

  /// What its end says to the supervisor. One that the watchdog ended was not killed from outside.
  func ending(by end: WorkerEnd) -> Supervisor.Ending {
    guard case .killed = end, condemnation == nil else { return .failed }
    return lookups.isEmpty && fetches.isEmpty ? .killedIdle : .killedAtWork
  }

  var takesLookups: Bool { condemnation == nil && lookups.count < credits.lookups }

  /// Whether it takes one more lease that lives on a transfer it has.
  var takesRides: Bool { condemnation == nil && fetches.count < credits.leases }

  /// Whether it takes a transfer of its own.
  ///
  /// - Parameter share: of the cluster's transfers. A few pictures for the decoder come on top, so
  ///   that it never waits for the network. When the decoder lags, the window gets smaller, and no
  ///   new transfer begins.
  func takesFetches(share: Int) -> Bool {
    guard takesRides, !window.isUntried || decodes.count < 2 * credits.backlog else { return false }
    return fetches.count - rides.count < window.size(upTo: share + credits.backlog)
  }

  /// Fetches are about to end.
  ///
  /// - Parameter queueCount: bodies that wait for its decoder now.
  mutating func endFetches(_ count: Int, queueCount: Int, share: Int) {
    window.end(
      count, of: fetches.count - rides.count, queueCount: queueCount, backlog: credits.backlog,
      maximum: share + credits.backlog)
  }
}
