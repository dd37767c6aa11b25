import ImgModel
import ImgWire
import SeededRandom
import WorkerSimulation

/// The worker processes of a cluster, each with the real machine of a worker. Messages wait in a
/// queue on their way to a worker, and in another one on their way back, until they are delivered.
final class WorkerFleet {
  private struct Process {
    let worker: SimulatedWorker
    var isReady = false
    /// Whether it is gone, and only its last messages are left.
    var isGone = false
    /// On their way to it.
    var inbox: [CoordinatorMessage] = []
    /// On their way from it.
    var outbox: [WorkerMessage] = []
  }

  let store = SimulatedStore()
  let origins: SimulatedOrigins
  private var processes: [WorkerID: Process] = [:]
  /// Is told everything that is against the rules.
  private let report: (String) -> Void

  init(origins: SimulatedOrigins, report: @escaping (String) -> Void) {
    self.origins = origins
    self.report = report
  }

  // MARK: - Processes

  /// The workers that live, the oldest first.
  var ids: [WorkerID] { processes.filter { !$0.value.isGone }.keys.sorted() }

  func contains(_ id: WorkerID) -> Bool { processes[id] != nil }

  func isReady(_ id: WorkerID) -> Bool { processes[id]?.isReady ?? false }

  func spawn(_ id: WorkerID, at now: Moment) {
    if contains(id) { report("\(id) is started twice") }
    let report = report
    processes[id] = Process(
      worker: SimulatedWorker(store, origins, at: now) { report("\(id): \($0)") })
  }

  func makeReady(_ id: WorkerID, _ credits: Credits) {
    guard processes[id]?.isReady == false else { return }
    processes[id]?.isReady = true
    processes[id]?.outbox.append(.ready(credits))
  }

  /// The process dies. What it sent before can still be taken.
  func end(_ id: WorkerID) {
    processes[id]?.isGone = true
    processes[id]?.inbox = []
  }

  func remove(_ id: WorkerID) {
    processes[id] = nil
  }

  /// Every process dies with the coordinator.
  func removeAll() {
    processes = [:]
  }

  func recreateStore() {
    store.removeAll()
  }

  // MARK: - Messages

  func send(_ message: CoordinatorMessage, to id: WorkerID) {
    guard let process = processes[id], !process.isGone else {
      if !message.leases.isEmpty { report("\(id) is gone and is assigned \(message.leases)") }
      return
    }
    processes[id]?.inbox.append(message)
  }

  /// Delivers the oldest message that is on its way to the worker.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func deliver(to id: WorkerID, at now: Moment) -> Bool {
    guard let process = processes[id], !process.inbox.isEmpty else { return false }
    processes[id]?.inbox.removeFirst()
    process.worker.receive(process.inbox[0], at: now)
    takeMessages(of: process.worker, id)
    return true
  }

  /// Takes the oldest message that is on its way from the worker.
  func takeMessage(from id: WorkerID) -> WorkerMessage? {
    guard processes[id]?.outbox.isEmpty == false else { return nil }
    return processes[id]?.outbox.removeFirst()
  }

  private func takeMessages(of worker: SimulatedWorker, _ id: WorkerID) {
    processes[id]?.outbox += worker.takeMessages()
  }

  // MARK: - Work

  /// Ends one of the operations of the worker.
  ///
  /// - Returns: whether one was under way.
  @discardableResult
  func step(_ id: WorkerID, _ random: inout SeededGenerator, at now: Moment) -> Bool {
    guard let worker = processes[id]?.worker else { return false }
    let isUnderWay = worker.hasOperations
    worker.step(&random, at: now)
    takeMessages(of: worker, id)
    return isUnderWay
  }

  /// Whether the worker has left, because it was told to.
  func hasLeft(_ id: WorkerID) -> Bool { processes[id]?.worker.isStopped ?? false }

  /// The leases that the worker decodes, the oldest first.
  func decodes(of id: WorkerID) -> [LeaseID] { processes[id]?.worker.decodes ?? [] }

  /// What the worker asks origins for, the oldest first.
  func requests(of id: WorkerID) -> [(transfer: TransferID, host: String)] {
    processes[id]?.worker.requests ?? []
  }

  // MARK: - Leases

  /// The leases that the worker holds, and those on the way to it or from it.
  func leases(of id: WorkerID) -> [LeaseID] {
    guard let process = processes[id] else { return [] }
    return Array(process.worker.lookups) + Array(process.worker.leases)
      + process.inbox.flatMap(\.leases) + process.outbox.flatMap(\.endedLeases)
  }

  /// Reports what a worker without work still holds.
  func checkEnd(of id: WorkerID) {
    guard let process = processes[id] else { return }
    if !process.worker.isIdle { report("\(id) is not idle") }
    if !process.inbox.isEmpty || !process.outbox.isEmpty { report("\(id) has messages") }
    process.worker.checkEnd()
  }
}

extension CoordinatorMessage {
  /// The leases that it assigns.
  fileprivate var leases: [LeaseID] {
    switch self {
    case .lookup(let batch), .fetch(let batch), .attach(let batch), .decode(let batch):
      batch.items.map(\.lease)
    case .decodeUpload(let upload): [upload.lease]
    case .welcome, .followRedirects, .preview, .progress, .cancel, .sweep, .unpin, .decoderExited,
      .drain:
      []
    }
  }
}

extension WorkerMessage {
  /// The leases that it ends.
  fileprivate var endedLeases: [LeaseID] {
    switch self {
    case .lookedUp(let results):
      results.hits.map(\.lease) + results.originals + results.misses
    case .released(let list), .unpinned(let list): list.leases
    case .finished(let list): list.results.map(\.lease)
    case .uncached(let result): [result.lease]
    case .hello, .ready, .refused, .hostUpdates, .redirected, .transferred, .preview,
      .progress, .startDecoder, .endDecoder, .store, .sandboxed:
      []
    }
  }
}
