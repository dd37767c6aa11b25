package import ImgModel

/// Keeps one process for each worker number: respawns what died, at once when it had worked, with
/// growing pauses when it had not, and gives up when nothing works any more. A worker has worked once it
/// has answered: one that dies of whatever it touches first would otherwise die without end.
///
/// A signal from outside that ends a ready worker says nothing against the program, so it never
/// counts towards giving up.
package struct Supervisor {
  package enum ChildState: Hashable {
    case starting(WorkerID, since: Instant)
    case ready(WorkerID)
    /// Did not become ready in time and was killed; its exit is on the way.
    case stopping(WorkerID)
    case backingOff(until: Instant)
    /// Left without a process on purpose: the cluster drains or gave up.
    case empty

    package var worker: WorkerID? {
      switch self {
      case .starting(let worker, _), .ready(let worker), .stopping(let worker): worker
      case .backingOff, .empty: nil
      }
    }
  }

  /// The processes of one worker number. At most one of them runs.
  package struct Child {
    package fileprivate(set) var state = ChildState.empty
    /// Processes that ended without being asked to.
    package fileprivate(set) var deaths = 0
    /// Starts in a row that did not lead to a worker that answered.
    fileprivate var failedStarts = 0
    /// Ready workers that were killed from outside at work since the last answer.
    fileprivate var killedWorkers = 0
    fileprivate var hasAnswered = false
    /// What the exit is explained by, better than by how the process ended.
    fileprivate var refusal: String?
  }

  /// How a process ended, as far as that speaks against its program.
  enum Ending: Hashable {
    /// By a fault of its own, before it was ready, or it had to be ended.
    case failed
    /// By a signal from outside, ready and at work. The kernel's out-of-memory killer does that each
    /// time when the work is the reason, so the pauses grow.
    case killedAtWork
    /// By a signal from outside, ready and without work.
    case killedIdle
  }

  enum Verdict: Equatable {
    case spawn(WorkerID, number: Int)
    case kill(WorkerID)
    case noWorkers(reason: String)
  }

  /// Pauses after failed starts: 100 ms, doubled each time, 5 s at most.
  private static let firstPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(5)
  /// After so many failed starts in a row of every child the cluster ends.
  package static let failedStartsMaximum = 8
  /// A process that is not ready after this long is taken for hung.
  static let startTimeout = Duration.seconds(30)

  /// By worker number, from 0.
  package private(set) var children: [Child]
  private var isRespawning = true
  private var lastWorker: UInt64 = 0
  private var lastReason = "it ended before it was ready"
  /// Why the last start failed; `nil` since a worker has answered.
  private(set) var startFailure: String?

  init(workerCount: Int) {
    children = Array(repeating: Child(), count: workerCount)
  }

  /// When ``timePassed(at:)`` has something to do.
  var deadline: Instant? {
    children.compactMap { child in
      switch child.state {
      case .starting(_, let since): since + Self.startTimeout
      case .backingOff(let until): until
      case .ready, .stopping, .empty: nil
      }
    }.min()
  }

  /// When the next process is started; `nil` while one starts, and where none will.
  var nextStart: Instant? {
    guard startingSince == nil else { return nil }
    return children.compactMap { child in
      if case .backingOff(let until) = child.state { until } else { nil }
    }.min()
  }

  /// Since when the oldest process starts that is not ready; `nil` while none does.
  var startingSince: Instant? {
    children.compactMap { child in
      if case .starting(_, let since) = child.state { since } else { nil }
    }.min()
  }

  mutating func startAll(at now: Instant) -> [Verdict] {
    children.indices.map { spawn(in: $0, at: now) }
  }

  /// - Returns: the worker's number; `nil` when it is not expected.
  mutating func workerReady(_ worker: WorkerID) -> Int? {
    guard let index = index(of: worker), case .starting = children[index].state else { return nil }
    children[index].state = .ready(worker)
    return index
  }

  /// The worker has answered a request: it works.
  mutating func workerAnswered(_ worker: WorkerID) {
    guard let index = index(of: worker) else { return }
    children[index].hasAnswered = true
    startFailure = nil
    children[index].failedStarts = 0
    children[index].killedWorkers = 0
  }

  /// Keeps the reason for the message that a later give-up shows.
  mutating func workerRefused(_ worker: WorkerID, reason: String) {
    guard let index = index(of: worker) else { return }
    lastReason = reason
    children[index].refusal = reason
  }

  mutating func workerExited(
    _ worker: WorkerID, _ ending: Ending, reason: String, at now: Instant
  ) -> [Verdict] {
    guard let index = index(of: worker) else { return [] }
    let hadAnswered = children[index].hasAnswered
    children[index].state = .empty
    guard isRespawning else { return [] }
    children[index].deaths += 1
    if hadAnswered { return [spawn(in: index, at: now)] }

    startFailure =
      children[index].refusal.take() ?? "a worker ended before it had answered: \(reason)"
    switch ending {
    case .failed:
      children[index].failedStarts += 1
      guard !children.allSatisfy({ $0.failedStarts >= Self.failedStartsMaximum }) else {
        stopRespawning()
        return [.noWorkers(reason: "\(lastReason); the last one \(reason)")]
      }
    case .killedAtWork:
      children[index].killedWorkers += 1
    case .killedIdle:
      break
    }
    children[index].state = .backingOff(until: now + children[index].pause(after: ending))
    return []
  }

  /// From now on no process is started.
  mutating func stopRespawning() {
    isRespawning = false
    for index in children.indices {
      if case .backingOff = children[index].state { children[index].state = .empty }
    }
  }

  mutating func timePassed(at now: Instant) -> [Verdict] {
    children.indices.compactMap { index in
      switch children[index].state {
      case .backingOff(let until) where until <= now:
        return spawn(in: index, at: now)
      case .starting(let worker, let since) where since + Self.startTimeout <= now:
        children[index].state = .stopping(worker)
        return .kill(worker)
      case .backingOff, .starting, .ready, .stopping, .empty:
        return nil
      }
    }
  }

  /// The index of the child whose process is `worker`, which is the worker's number.
  func index(of worker: WorkerID) -> Int? {
    children.firstIndex { $0.state.worker == worker }
  }

  static func pause(afterFailures failures: Int) -> Duration {
    min(firstPause * (1 << min(failures - 1, 16)), longestPause)
  }

  private mutating func spawn(in index: Int, at now: Instant) -> Verdict {
    lastWorker += 1
    let worker = WorkerID(rawValue: lastWorker)
    children[index].state = .starting(worker, since: now)
    children[index].hasAnswered = false
    return .spawn(worker, number: index)
  }
}

extension Supervisor.Child {
  fileprivate func pause(after ending: Supervisor.Ending) -> Duration {
    switch ending {
    case .failed, .killedAtWork: Supervisor.pause(afterFailures: failedStarts + killedWorkers)
    case .killedIdle: Supervisor.pause(afterFailures: 1)
    }
  }
}

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
    guard let hold = worker.hold(of: lease), hold != .lookup else { return .none }
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

/// Crashes of workers in calls of the store. LMDB asserts, and follows offsets without a check, so
/// damaged pages end the process that reads them.
///
/// One crash may have another reason, such as memory that ran out. A second one within the period
/// is taken for damage, and the store is recreated. If crashes go on after that has happened a few
/// times, a damaged file is not the reason: they count like any other crash, so that the work ends.
struct StoreCrashes {
  enum Verdict {
    /// Nothing follows yet, and no picture is the reason.
    case tolerated
    /// The store is damaged, and no picture is the reason.
    case damage
    /// As any other crash.
    case ordinary
  }

  static let period = Duration.seconds(600)
  /// Crashes within the period that are taken for damage.
  static let crashMaximum = 2
  /// Stores that are removed within the period.
  static let recreationMaximum = 3

  /// At most as many as the maximum, the oldest first.
  private var crashes: [Instant] = []
  private var recreations: [Instant] = []

  /// A worker has crashed in the store.
  mutating func note(at now: Instant) -> Verdict {
    crashes.removeAll { now - $0 > Self.period }
    recreations.removeAll { now - $0 > Self.period }
    guard recreations.count < Self.recreationMaximum else { return .ordinary }
    crashes.append(now)
    guard crashes.count >= Self.crashMaximum else { return .tolerated }
    crashes = []
    recreations.append(now)
    return .damage
  }
}

/// Whether the store takes thumbnails, as the workers' results tell, and whether it is damaged, as
/// their crashes tell. Each put is a new attempt, so the first success of any worker ends the error.
struct StoreHealth {
  private(set) var error: StoreErrorStatus?
  /// What a worker told last of its size; `nil` before.
  private(set) var report: StoreReport?
  /// How often a worker has told it.
  private(set) var reportCount = 0
  private var crashes = StoreCrashes()

  /// A worker tells the size of the store.
  mutating func note(_ report: StoreReport) {
    self.report = report
    reportCount += 1
  }

  /// The store has refused a thumbnail.
  ///
  /// - Parameter isServed: whether a viewer has got it nevertheless.
  /// - Returns: the error, if it begins with this.
  mutating func noteRefusal(
    _ reason: String, isServed: Bool, at now: WallTime
  ) -> StoreErrorStatus? {
    let isNew = error == nil
    var current = error ?? StoreErrorStatus(reason: reason, since: now)
    current.reason = reason
    if isServed { current.servedCount += 1 }
    error = current
    return isNew ? current : nil
  }

  /// The store has taken a thumbnail.
  ///
  /// - Returns: the error, if it ends with this.
  mutating func noteStored() -> StoreErrorStatus? { error.take() }

  /// A worker has crashed in a call of the store.
  mutating func noteCrash(at now: Instant) -> StoreCrashes.Verdict {
    crashes.note(at: now)
  }
}
