import ImgModel
import ImgScheduler
import ImgWire
import SeededRandom
import WorkerSimulation

/// What the scheduler hears from workers with real machines, and what must hold between them.
extension ClusterModel {
  // MARK: - From workers

  /// The scheduler gets the oldest message that is on its way from the worker.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func hear(_ id: WorkerID, of fleet: WorkerFleet) -> Bool {
    guard let message = fleet.takeMessage(from: id) else { return false }
    switch message {
    case .hello, .refused: fail("\(id) does not begin: \(message)")
    case .uncached, .preview:
      lastFile += 1
      handle(.fromWorker(id, message, file: MemoryFileID(rawValue: lastFile)))
    case .ready, .lookedUp, .hostUpdates, .redirected, .transferred, .released, .finished,
      .progress, .unpinned, .store:
      handle(.fromWorker(id, message))
    case .startDecoder, .endDecoder, .sandboxed: fail("a machine has no decoders: \(message)")
    }
    return true
  }

  // MARK: - Invariants

  /// The scheduler and its workers agree on who does what.
  func checkFleet(_ fleet: WorkerFleet, after event: Event) {
    for id in fleet.ids {
      let held = fleet.leases(of: id)
      let known = Set(scheduler.workers[id]?.leases ?? [])
      if Set(held).count != held.count { fail("\(id) holds a lease twice", after: event) }
      if Set(held) != known {
        let difference = known.symmetricDifference(held).sorted()
        fail("\(id) and the scheduler differ over leases \(difference)", after: event)
      }
      checkRequests(of: id, fleet, after: event)
    }
  }

  /// What asks a host has a slot there. A transfer without leases is about to be aborted.
  private func checkRequests(of id: WorkerID, _ fleet: WorkerFleet, after event: Event) {
    for (name, host) in fleet.requests(of: id) {
      guard let transfer = scheduler.fetches.transfers[name] else { continue }
      if !transfer.holdsSlot { fail("transfer \(name) asks \(host) without a slot", after: event) }
      if transfer.host != host {
        fail("transfer \(name) asks \(host), not \(transfer.host)", after: event)
      }
    }
  }
}

/// What the scheduler tells workers, be they models or with real machines.
extension ClusterModel {
  func send(_ message: CoordinatorMessage, to id: WorkerID) {
    guard isReady(id) else { return fail("a message to \(id), which is not ready: \(message)") }
    note(message)
    if let fleet { fleet.send(message, to: id) } else { receive(message, at: id) }
    guard let worker = scheduler.workers[id] else { return }
    if worker.lookupCount > credits.lookups { fail("too many look-ups") }
    if worker.fetchCount > credits.leases { fail("too many leases") }
  }

  private func note(_ message: CoordinatorMessage) {
    switch message {
    case .welcome, .sweep, .unpin, .decoderExited:
      fail("the driver sends \(message), not the scheduler")
    case .dropConnections: connectionDropCount += 1
    case .lookup(let batch):
      if batch.request.bypassesStore { fail("a look-up of what bypasses the store") }
      lookupStarts += batch.items.map(\.url)
    case .fetch(let batch):
      noteViewers(of: batch)
      batch.items.forEach { noteFetch($0, of: batch) }
    case .attach(let batch):
      noteViewers(of: batch)
      attachedCount += batch.items.count
    case .decode(let batch): decodeStarts += batch.items.map(\.url)
    case .decodeUpload(let picture): decodeStarts.append(picture.url ?? Self.uploaded)
    case .followRedirects(let transfers):
      for host in transfers.compactMap({ scheduler.fetches.transfers[$0]?.host }) {
        checkRate(of: host)
      }
    case .updates(let lease, let updates):
      if updates?.contains(.previews) == true { previewLeases.append(lease) }
      if updates?.contains(.progress) == true { progressLeases.append(lease) }
      knownUpdates.updateValue(updates, forKey: lease)
      // Nothing is wanted of what has ended.
      if scheduler.fetches.leases[lease] == nil { fail("updates of \(lease), which has ended") }
    case .cancel, .drain: break
    }
  }

  private func noteViewers(of batch: Batch) {
    for item in batch.items {
      knownUpdates.updateValue(batch.isUrgent ? [] : nil, forKey: item.lease)
    }
  }

  /// A transfer begins: the origin sees it.
  private func noteFetch(_ item: Assignment, of batch: Batch) {
    if batch.request.fetch.cachePolicy == .cacheOnly {
      fail("\(item.url) is fetched against its policy")
    }
    fetchStarts.append(item.url)
    begunTransfers.append(item.lease)
    checkNotKnownToBeMissing(item.url)
    if let host = host(of: item.url) { checkRate(of: host) }
  }

  // MARK: - Models of workers

  private func receive(_ message: CoordinatorMessage, at id: WorkerID) {
    switch message {
    case .lookup(let batch): workers[id]?.lookups.append(batch)
    case .fetch(let batch): batch.items.forEach { fetch($0, of: batch, by: id) }
    case .attach(let batch): batch.items.forEach { attach($0, of: batch, at: id) }
    case .decode(let batch): batch.items.forEach { decode($0, of: batch, by: id) }
    case .decodeUpload(let picture): decode(picture, by: id)
    case .followRedirects(let transfers):
      transfers.forEach { follow(LeaseID(rawValue: $0.rawValue), by: id) }
    case .cancel(let leases):
      workers[id]?.cancelled.formUnion(leases)
    case .drain:
      if workers[id]?.isDraining == true { fail("told to drain twice") }
      workers[id]?.isDraining = true
    // A model makes no previews and reports no progress; a real machine does.
    case .welcome, .updates, .sweep, .unpin, .decoderExited, .dropConnections: break
    }
  }

  private func fetch(_ item: Assignment, of batch: Batch, by id: WorkerID) {
    let part = batch.request.keep.part
    let isReceived = { (transfer: WorkerModel.Transfer) in
      transfer.url == item.url && transfer.part == part
    }
    if workers.values.contains(where: { $0.receiving.contains(where: isReceived) }) {
      fail("\(item.url) is fetched twice at a time")
    }
    let host = host(of: item.url)
    workers[id]?.transfers.append(
      WorkerModel.Transfer(
        id: item.lease, url: item.url, part: part, host: host))
    workers[id]?.fetches.append(lease(item, of: batch, transfer: item.lease))
    if let host { checkLimits(of: host) }
  }

  /// A transfer goes on at the host where its redirect leads.
  private func follow(_ id: LeaseID, by worker: WorkerID) {
    guard let transfer = workers[worker]?.transfer(id), transfer.state == .redirected,
      let host = transfer.host
    else { return }
    workers[worker]?.setState(.receiving, of: id)
    checkLimits(of: host)
  }

  private func attach(_ item: Assignment, of batch: Batch, at id: WorkerID) {
    if let transfer = workers[id]?.joinableTransfer(of: item.url, batch.request.keep.part) {
      workers[id]?.fetches.append(lease(item, of: batch, transfer: transfer.id))
    } else {
      decode(item, of: batch, by: id)
    }
  }

  private func decode(_ item: Assignment, of batch: Batch, by id: WorkerID) {
    let isAtHand =
      store.hasOriginal(of: item.url, for: batch.request.fetch.cachePolicy)
      || item.url.hasPrefix("data:")
    if isAtHand {
      workers[id]?.transfers.append(
        WorkerModel.Transfer(
          id: item.lease, url: item.url, isOriginal: true, state: .gone))
      workers[id]?.fetches.append(lease(item, of: batch, transfer: item.lease))
    } else {
      mail.append(.fromWorker(id, .released([item.lease])))
    }
  }

  private func decode(_ picture: Upload, by id: WorkerID) {
    let url = picture.url ?? Self.uploaded
    // No other request joins it.
    workers[id]?.transfers.append(WorkerModel.Transfer(id: picture.lease, url: url, state: .gone))
    workers[id]?.fetches.append(
      WorkerModel.Fetch(
        lease: picture.lease, url: url, variant: picture.request.variant,
        keep: picture.request.keep,
        retention: picture.retention, policy: .cacheElseLoad,
        bypassesStore: picture.url == nil,
        transfer: picture.lease))
  }

  private func lease(_ item: Assignment, of batch: Batch, transfer: LeaseID) -> WorkerModel.Fetch {
    WorkerModel.Fetch(
      lease: item.lease, url: item.url, variant: batch.request.variant, keep: batch.request.keep,
      retention: batch.retention, policy: batch.request.fetch.cachePolicy,
      bypassesStore: batch.request.bypassesStore, transfer: transfer)
  }
}

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
    case .welcome, .followRedirects, .updates, .cancel, .sweep, .unpin, .decoderExited,
      .dropConnections, .drain:
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
    case .released(let leases), .unpinned(let leases): leases
    case .finished(let list): list.results.map(\.lease)
    case .uncached(let result): [result.lease]
    case .hello, .ready, .refused, .hostUpdates, .redirected, .transferred, .preview,
      .progress, .startDecoder, .endDecoder, .store, .sandboxed:
      []
    }
  }
}
