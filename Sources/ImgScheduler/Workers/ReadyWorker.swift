package import ImgModel
import ImgWire

/// A worker that takes work, and what it holds.
package struct ReadyWorker {
  /// What a lease costs its worker.
  enum Hold {
    case lookup
    /// A transfer of its own.
    case transfer
    /// It is attached to a body that is still on its way: it costs nothing yet.
    case attached
    /// The body is in, or at hand: it waits for the decoder, or for the store.
    case decode
  }

  /// Why the watchdog has told a worker to end.
  enum KillReason: Equatable {
    /// Its loop did not run. The suspect is the transfer that the loop was working on, if there is
    /// one.
    case hung
    /// Answers to these leases, the suspects, are long overdue.
    case overdue(Set<LeaseID>)
    /// It read this lease's local file, or its original in the store, for too long.
    case hungRead(LeaseID)
  }

  package let id: WorkerID
  let number: Int
  let credits: Credits
  package private(set) var lookups: Set<LeaseID> = []
  /// Leases of fetches, and those attached to them.
  package private(set) var fetches: Set<LeaseID> = []
  /// Those of them that are attached to a body on its way.
  private(set) var attached: Set<LeaseID> = []
  /// Those of them whose transfer is slow: it costs next to nothing.
  private var slow: Set<LeaseID> = []
  /// Those of them whose body is in.
  package private(set) var decodes: Set<LeaseID> = []
  private var window = FetchWindow()
  /// When it last told of something looked up or finished; `nil` before the first time.
  var lastAnswerAt: ContinuousClock.Instant?
  /// Why it was told to end; its exit is on the way.
  var killReason: KillReason?
  /// Whether its process is gone, and only its last messages are left to handle.
  var isExiting = false
  /// Whether it has said that it cannot go on, as when its decoders do not start.
  var hasRefused = false

  init(id: WorkerID, number: Int, credits: Credits) {
    self.id = id
    self.number = number
    self.credits = credits
  }

  // MARK: - Leases

  /// - Precondition: the lease is a new one.
  mutating func hold(_ lease: LeaseID, as kind: Hold) {
    if case .lookup = kind {
      precondition(lookups.insert(lease).inserted, "\(lease) is held twice")
      return
    }
    precondition(fetches.insert(lease).inserted, "\(lease) is held twice")
    switch kind {
    case .attached: attached.insert(lease)
    case .decode: decodes.insert(lease)
    case .lookup, .transfer: break
    }
  }

  /// - Precondition: the worker holds the lease as a fetch.
  mutating func bodyArrived(for lease: LeaseID) {
    precondition(fetches.contains(lease), "\(lease) is not held")
    attached.remove(lease)
    slow.remove(lease)
    decodes.insert(lease)
  }

  /// - Precondition: the worker holds the lease.
  mutating func release(_ lease: LeaseID) {
    let isHeld = lookups.remove(lease) != nil || fetches.remove(lease) != nil
    precondition(isHeld, "\(lease) is not held")
    attached.remove(lease)
    slow.remove(lease)
    decodes.remove(lease)
  }

  /// The transfer of a lease has turned slow, or is slow no more. Nothing for a lease that has ended.
  mutating func setSlow(_ isSlow: Bool, _ lease: LeaseID) {
    if isSlow, fetches.contains(lease), !attached.contains(lease) {
      slow.insert(lease)
    } else {
      slow.remove(lease)
    }
  }

  /// The fetches that count for its window.
  private var windowCount: Int { fetches.count - attached.count - slow.count }

  // MARK: - Ends

  /// The leases for whose answers it was told to end.
  var overdueLeases: Set<LeaseID> {
    if case .overdue(let leases) = killReason { leases } else { [] }
  }

  /// What its end tells the supervisor. A worker that the watchdog ended was not killed from
  /// outside.
  func ending(by end: WorkerEnd) -> Supervisor.Ending {
    guard case .killed = end, killReason == nil else { return .failed }
    return lookups.isEmpty && fetches.isEmpty ? .killedIdle : .killedAtWork
  }

  // MARK: - Capacity

  package var takesLookups: Bool { takesWork && lookups.count < credits.lookups }

  /// Whether it takes one more lease that lives on a transfer it has.
  var takesFetchLeases: Bool { takesWork && fetches.count < credits.leases }

  private var takesWork: Bool { killReason == nil && !isExiting && !hasRefused }

  /// Whether it takes a transfer of its own.
  ///
  /// - Parameters:
  ///   - share: of the cluster's transfers. A few pictures for the decoder come on top, so that it
  ///     never waits for the network. When the decoder lags, the window gets smaller, and no new
  ///     transfer begins.
  ///   - isForViewer: whether it is for a viewer. Its picture goes first to the decoder, so it does
  ///     not wait until a list's fetches leave the window: a few go beyond it.
  package func takesFetches(share: Int, isForViewer: Bool = false) -> Bool {
    guard takesFetchLeases, !window.isUntried || decodes.count < 2 * credits.decodeQueueTarget
    else {
      return false
    }
    let size = window.size(upTo: share + credits.decodeQueueTarget)
    return windowCount < size + (isForViewer ? credits.decodeQueueTarget : 0)
  }

  /// Fetches are about to end.
  ///
  /// - Parameter queueCount: bodies that wait for its decoder now.
  mutating func endFetches(_ count: Int, queueCount: Int, share: Int) {
    window.end(
      count, of: windowCount, queueCount: queueCount,
      queueTarget: credits.decodeQueueTarget, maximum: share + credits.decodeQueueTarget)
  }
}
