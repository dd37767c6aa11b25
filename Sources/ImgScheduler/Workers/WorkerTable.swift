package import ImgModel
import ImgWire

/// The workers: the processes that start and end, and what the ready ones hold.
package struct WorkerTable {
  private var workers: [WorkerID: ReadyWorker] = [:]
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
    workers.values.contains(where: isFit)
  }

  // MARK: - Processes

  mutating func startAll(at now: ContinuousClock.Instant) -> [Supervisor.Verdict] {
    supervisor.startAll(at: now)
  }

  mutating func timePassed(at now: ContinuousClock.Instant) -> [Supervisor.Verdict] {
    supervisor.timePassed(at: now)
  }

  /// When ``timePassed(at:)`` has something to do; `nil` while it has nothing.
  var deadline: ContinuousClock.Instant? { supervisor.deadline }

  mutating func stopRespawning() { supervisor.stopRespawning() }

  mutating func refused(_ id: WorkerID, reason: String) {
    supervisor.workerRefused(id, reason: reason)
    workers[id]?.hasRefused = true
  }

  /// A process has said hello.
  ///
  /// - Returns: whether it takes work from now on; not when it was given up meanwhile.
  mutating func becameReady(_ id: WorkerID, credits: Credits) -> Bool {
    guard let number = supervisor.workerReady(id) else { return false }
    workers[id] = ReadyWorker(id: id, number: number, credits: credits)
    // It may have died since it said so.
    workers[id]?.isExiting = exiting.contains(id)
    return true
  }

  /// A worker that answers works. An answer that arrives after the worker's exit changes nothing.
  mutating func answered(_ id: WorkerID, at now: ContinuousClock.Instant) {
    supervisor.workerAnswered(id)
    workers[id]?.lastAnswerAt = now
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
    workers[id]?.isExiting = true
  }

  /// Takes out a worker whose process is gone.
  ///
  /// - Returns: the worker with what it held; `nil` when it was not ready.
  mutating func remove(_ id: WorkerID) -> ReadyWorker? { workers.removeValue(forKey: id) }

  /// Decides what follows after a process is gone.
  mutating func exited(
    _ id: WorkerID, _ ending: Supervisor.Ending, reason: String, at now: ContinuousClock.Instant
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
    workers[id]?.setSlow(isSlow, LeaseID(rawValue: transfer.rawValue))
  }

  /// - Precondition: the worker is ready, and holds the lease.
  mutating func release(_ lease: LeaseID, of id: WorkerID) {
    change(id) { $0.release(lease) }
  }

  /// Fetches are about to end. An answer that arrives after the worker's exit changes nothing.
  mutating func willEndFetches(_ count: Int, queueCount: Int, share: Int, of id: WorkerID) {
    workers[id]?.endFetches(count, queueCount: queueCount, share: share)
  }

  private mutating func change(_ id: WorkerID, _ body: (inout ReadyWorker) -> Void) {
    guard let index = workers.index(forKey: id) else { preconditionFailure("\(id) is not ready") }
    body(&workers.values[index])
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
    for worker in workers.values {
      let load = takesMore(worker) ? load(worker) : nil
      let weight = RendezvousHash.weight(digest: digest, number: worker.number)
      if own.map({ ($0.weight, $0.id) < (weight, worker.id) }) ?? true {
        own = (worker.id, weight, load)
      }
      if let load, idlest.map({ (load, worker.id) < ($0.load, $0.id) }) ?? true {
        idlest = (worker.id, load)
      }
    }
    guard let own, let idlest else { return nil }
    let isOwnTaken = own.load.map { $0 <= idlest.load + Self.stealingThreshold } ?? false
    return isOwnTaken ? own.id : idlest.id
  }
}
