package import ImgModel
import ImgWire

/// A worker that takes work, and what it holds.
package struct ReadyWorker {
  /// What a lease costs its worker.
  package enum Hold: Int, CaseIterable {
    case lookup
    /// A transfer of its own.
    case transfer
    /// A transfer of its own that is slow: it costs next to nothing.
    case slow
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
  private var holds = NumberedTable<LeaseID, Hold>()
  /// How many leases it holds in each way.
  private var counts = [Int](repeating: 0, count: Hold.allCases.count)
  private var window = FetchWindow()
  /// When it last told of something looked up or finished; `nil` before the first time.
  var lastAnswerAt: Instant?
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

  /// Its leases, in the order in which they began.
  package var leases: [LeaseID] { holds.keys.sorted() }
  /// Those that are no look-ups.
  package var fetches: [LeaseID] { leases.filter { holds[$0] != .lookup } }
  /// What it holds a lease as; `nil` for one that it does not hold.
  package func hold(of lease: LeaseID) -> Hold? { holds[lease] }
  package var lookupCount: Int { counts[Hold.lookup.rawValue] }
  package var fetchCount: Int { holds.count - lookupCount }
  /// The fetches that count for its window.
  private var windowCount: Int { counts[Hold.transfer.rawValue] + decodeCount }
  /// The fetches whose body is in.
  private var decodeCount: Int { counts[Hold.decode.rawValue] }

  /// - Precondition: the lease is a new one.
  mutating func hold(_ lease: LeaseID, as hold: Hold) {
    precondition(!holds.contains(lease), "\(lease) is held twice")
    holds.set(lease, to: hold)
    counts[hold.rawValue] += 1
  }

  /// - Precondition: the worker holds the lease as a fetch.
  mutating func bodyArrived(for lease: LeaseID) {
    precondition(holds[lease] != .lookup, "\(lease) is no fetch")
    change(lease, to: .decode)
  }

  private mutating func change(_ lease: LeaseID, to hold: Hold) {
    release(lease)
    self.hold(lease, as: hold)
  }

  /// - Precondition: the worker holds the lease.
  mutating func release(_ lease: LeaseID) {
    guard let hold = holds.remove(lease) else { preconditionFailure("\(lease) is not held") }
    counts[hold.rawValue] -= 1
  }

  /// The transfer of a lease has turned slow, or is slow no more. Nothing for a lease that has ended, or that is
  /// attached.
  mutating func setSlow(_ isSlow: Bool, _ lease: LeaseID) {
    if holds[lease] == (isSlow ? .transfer : .slow) {
      change(lease, to: isSlow ? .slow : .transfer)
    }
  }

  // MARK: - Ends

  /// The leases for whose answers it was told to end.
  var overdueLeases: Set<LeaseID> {
    if case .overdue(let leases) = killReason { leases } else { [] }
  }

  /// What its end tells the supervisor. A worker that the watchdog ended was not killed from
  /// outside.
  func ending(by end: WorkerEnd) -> Supervisor.Ending {
    guard case .killed = end, killReason == nil else { return .failed }
    return holds.isEmpty ? .killedIdle : .killedAtWork
  }

  // MARK: - Capacity

  package var takesLookups: Bool { takesWork && lookupCount < credits.lookups }

  /// Whether it takes one more lease that lives on a transfer it has.
  var takesFetchLeases: Bool { takesWork && fetchCount < credits.leases }

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
    guard takesFetchLeases, !window.isUntried || decodeCount < 2 * credits.decodeQueueTarget
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

/// How many fetches a worker has at once: transfers under way, and bodies that wait for its decoder.
///
/// A body that waits longer than the decoder needs gains nothing, and is fetched again when the
/// worker dies. So the window follows the standing queue, which is the shortest queue in
/// front of the decoder during one turn of the window (Nichols and Jacobson, "Controlling Queue
/// Delay", 2012). A queue that never empties shortens the window by its excess; bursts do not count.
/// A queue that runs dry doubles the window, up to its maximum.
struct FetchWindow {
  /// `nil` while the window is as large as it may be.
  private var size: Int?
  private var shortestQueue = Int.max
  /// Results until the turn is over: as many as the worker had fetches when it began.
  private var remainingCount = 0
  /// Whether nothing has ended yet, so that the speed of the decoder is unknown.
  private(set) var isUntried = true

  /// - Parameter maximum: the worker's share of the transfers, and the queue target.
  func size(upTo maximum: Int) -> Int {
    min(size ?? maximum, maximum)
  }

  /// Fetches are about to end.
  ///
  /// - Parameters:
  ///   - heldCount: fetches that the worker has, these among them.
  ///   - queueCount: bodies that wait for the decoder now.
  ///   - queueTarget: bodies that should wait for it.
  mutating func end(
    _ count: Int, of heldCount: Int, queueCount: Int, queueTarget: Int, maximum: Int
  ) {
    isUntried = false
    shortestQueue = min(shortestQueue, queueCount)
    remainingCount -= count
    guard remainingCount <= 0 else { return }
    let size = size(upTo: maximum)
    if shortestQueue < max(queueTarget / 4, 1) {
      self.size = size * 2 < maximum ? size * 2 : nil
    } else if shortestQueue > queueTarget {
      self.size = max(min(size, heldCount) - (shortestQueue - queueTarget), queueTarget)
    }
    shortestQueue = .max
    remainingCount = heldCount
  }
}

/// Which worker a URL belongs to: the one whose weight for it is the highest (highest random
/// weight, Thaler and Ravishankar 1998). A worker that comes or goes moves only its own share of
/// the URLs.
enum RendezvousHash {
  /// A 64-bit digest of the URL (FNV-1a), computed once a URL.
  static func digest(_ url: String) -> UInt64 {
    url.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// How strongly the URL with this digest belongs to the worker of this number.
  static func weight(digest: UInt64, number: Int) -> UInt64 {
    SplitMix64.mix(digest ^ SplitMix64.mix(UInt64(number) &+ 0x9E37_79B9_7F4A_7C15))
  }
}

/// The workers: the processes that start and end, and what the ready ones hold.
package struct WorkerTable {
  private var workers = NumberedTable<WorkerID, ReadyWorker>()
  /// The processes that are gone and whose last messages are being handled.
  private var exiting: Set<WorkerID> = []
  package private(set) var supervisor: Supervisor

  /// - Parameter workerCount: processes to keep running, at least 1.
  init(workerCount: Int) {
    supervisor = Supervisor(workerCount: workerCount)
  }

  /// Whether no worker is ready.
  package var isEmpty: Bool { workers.isEmpty }
  package var ready: [ReadyWorker] { Array(workers.values) }
  var ids: [WorkerID] { workers.keys.sorted() }

  /// - Returns: `nil` when the worker is not ready, or has exited.
  package subscript(id: WorkerID) -> ReadyWorker? { workers[id] }

  func contains(where isFit: (ReadyWorker) -> Bool) -> Bool {
    workers.values.indices.contains { isFit(workers.values[$0]) }
  }

  // MARK: - Processes

  mutating func startAll(at now: Instant) -> [Supervisor.Verdict] {
    supervisor.startAll(at: now)
  }

  mutating func timePassed(at now: Instant) -> [Supervisor.Verdict] {
    supervisor.timePassed(at: now)
  }

  /// When ``timePassed(at:)`` has something to do; `nil` while it has nothing.
  var deadline: Instant? { supervisor.deadline }

  mutating func stopRespawning() { supervisor.stopRespawning() }

  mutating func refused(_ id: WorkerID, reason: String) {
    supervisor.workerRefused(id, reason: reason)
    workers.changeIfPresent(id) { $0.hasRefused = true }
  }

  /// A process has said hello.
  ///
  /// - Returns: whether it takes work from now on; not when it was given up meanwhile.
  mutating func becameReady(_ id: WorkerID, credits: Credits) -> Bool {
    guard let number = supervisor.workerReady(id) else { return false }
    var worker = ReadyWorker(id: id, number: number, credits: credits)
    // It may have died since it said so.
    worker.isExiting = exiting.contains(id)
    workers.set(id, to: worker)
    return true
  }

  /// A worker that answers works. An answer that arrives after the worker's exit changes nothing.
  mutating func answered(_ id: WorkerID, at now: Instant) {
    supervisor.workerAnswered(id)
    workers.changeIfPresent(id) { $0.lastAnswerAt = now }
  }

  /// The process is being killed; its exit is on the way.
  ///
  /// - Precondition: the worker is ready, and was not told to end before.
  mutating func kill(_ id: WorkerID, because reason: ReadyWorker.KillReason) {
    change(id) { worker in
      precondition(worker.killReason == nil, "\(id) is killed twice")
      worker.killReason = reason
    }
  }

  /// The process is gone: the worker takes no more, also if one of its last messages says that it is
  /// ready.
  mutating func beginExit(of id: WorkerID) {
    exiting.insert(id)
    workers.changeIfPresent(id) { $0.isExiting = true }
  }

  /// Takes out a worker whose process is gone.
  ///
  /// - Returns: the worker with what it held; `nil` when it was not ready.
  mutating func remove(_ id: WorkerID) -> ReadyWorker? { workers.remove(id) }

  /// Decides what follows after a process is gone.
  mutating func exited(
    _ id: WorkerID, _ ending: Supervisor.Ending, reason: String, at now: Instant
  ) -> [Supervisor.Verdict] {
    exiting.remove(id)
    return supervisor.workerExited(id, ending, reason: reason, at: now)
  }

  // MARK: - Leases

  /// - Precondition: the worker is ready.
  mutating func hold(_ lease: LeaseID, as kind: ReadyWorker.Hold, by id: WorkerID) {
    change(id) { $0.hold(lease, as: kind) }
  }

  /// The last byte of the body is in: the lease waits for the decoder.
  ///
  /// - Precondition: the worker is ready, and holds the lease.
  mutating func bodyArrived(for lease: LeaseID, at id: WorkerID) {
    change(id) { $0.bodyArrived(for: lease) }
  }

  /// A transfer of a worker has turned slow, or is slow no more. The lease that began it may have ended.
  mutating func setSlow(_ isSlow: Bool, _ transfer: TransferID, of id: WorkerID) {
    workers.changeIfPresent(id) { $0.setSlow(isSlow, LeaseID(rawValue: transfer.rawValue)) }
  }

  /// - Precondition: the worker holds the lease, or has exited.
  mutating func release(_ lease: LeaseID, of id: WorkerID) {
    workers.changeIfPresent(id) { $0.release(lease) }
  }

  /// Fetches are about to end. An answer that arrives after the worker's exit changes nothing.
  mutating func willEndFetches(_ count: Int, queueCount: Int, share: Int, of id: WorkerID) {
    workers.changeIfPresent(id) { $0.endFetches(count, queueCount: queueCount, share: share) }
  }

  private mutating func change(_ id: WorkerID, _ body: (inout ReadyWorker) -> Void) {
    workers.change(id, body)
  }

  // MARK: - Choosing

  /// How much more the URL's own worker may hold than the idlest before the idlest takes the URL.
  private static let stealingThreshold = 4

  /// The URL's own worker by rendezvous hashing, unless it takes no more or another is clearly
  /// idler; `nil` when none takes more.
  ///
  /// - Parameter digest: of the URL, see ``RendezvousHash/digest(_:)``.
  func choose(
    digest: UInt64, where takesMore: (ReadyWorker) -> Bool, load: (ReadyWorker) -> Int
  ) -> WorkerID? {
    var own: (id: WorkerID, weight: UInt64, load: Int?)?
    var idlest: (id: WorkerID, load: Int)?
    // By its position, so that no worker is copied.
    for position in workers.values.indices {
      let load = takesMore(workers.values[position]) ? load(workers.values[position]) : nil
      let (id, number) = (workers.keys[position], workers.values[position].number)
      let weight = RendezvousHash.weight(digest: digest, number: number)
      if own.map({ ($0.weight, $0.id) < (weight, id) }) ?? true { own = (id, weight, load) }
      if let load, idlest.map({ (load, id) < ($0.load, $0.id) }) ?? true { idlest = (id, load) }
    }
    guard let own, let idlest else { return nil }
    let isOwnTaken = own.load.map { $0 <= idlest.load + Self.stealingThreshold } ?? false
    return isOwnTaken ? own.id : idlest.id
  }
}
