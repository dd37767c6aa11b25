package import ImgModel
package import ImgWire
import ImgWorkerMachine
package import SeededRandom

/// A real machine of a worker whose origins, store and decoder are models. What it started ends when
/// ``step(_:at:)`` picks it, in any order and with any result.
///
/// It checks what the machine does: every lease ends once, every body is used while it is held and is
/// released once, no transfer runs twice, no lease gets a body from where it permits no redirect.
package final class SimulatedWorker {
  enum Operation {
    case transfer(SimulatedTransfer)
    case robots(ImageURL)
    case decode(FetchOrder, DecodeSource)
    case put(StoreRequest)
    case renewal(FetchOrder)
    case partial(TransferID)
    case robotsRecord(String)
    case lookup(LookupResults)
    case preview(PreviewOrder)
  }

  private var machine: WorkerMachine
  let store: SimulatedStore
  let origins: SimulatedOrigins
  /// Is told everything that is against the rules.
  private let report: (String) -> Void

  private var operations: [Operation] = []
  /// Transfers that wait at a redirect, with where it leads.
  var redirected: [TransferID: SimulatedTransfer] = [:]
  var endedTransfers: Set<TransferID> = []
  var bodies: Set<TransferID> = []
  /// Where redirects have led transfers whose bodies came in.
  var redirects: [TransferID: [ImageURL]] = [:]
  /// Of transfers of which previews or progress are wanted.
  private var arrivedByteCounts: [TransferID: Int] = [:]
  var cancelledDecodes: Set<LeaseID> = []
  /// What the transfers have noticed of hosts since the last turn.
  var hostUpdates = HostUpdates()
  private var uncached: [UncachedResult] = []
  /// Leases of look-ups without an answer.
  package private(set) var lookups: Set<LeaseID> = []
  /// Other leases without a result.
  package private(set) var leases: Set<LeaseID> = []
  private var messages: [WorkerMessage] = []
  package private(set) var isStopped = false

  package init(
    _ store: SimulatedStore, _ origins: SimulatedOrigins = SimulatedOrigins(), at now: Moment,
    report: @escaping (String) -> Void
  ) {
    self.store = store
    self.origins = origins
    self.report = report
    machine = WorkerMachine(at: now)
  }

  // MARK: - The coordinator's side

  package func receive(_ message: CoordinatorMessage, at now: Moment) {
    switch message {
    case .lookup(let batch): lookups.formUnion(batch.items.map(\.lease))
    case .fetch(let batch), .attach(let batch), .decode(let batch):
      leases.formUnion(batch.items.map(\.lease))
    case .decodeUpload(let upload): leases.insert(upload.lease)
    case .welcome, .followRedirects, .updates, .cancel, .sweep, .unpin, .decoderExited,
      .dropConnections, .drain:
      break
    }
    feed(.received(message), at: now)
    endTurn(at: now)
  }

  /// What the worker has sent since the last call.
  package func takeMessages() -> [WorkerMessage] {
    defer { messages = [] }
    return messages
  }

  /// Whether nothing that it started is under way.
  package var isIdle: Bool {
    operations.isEmpty && redirected.isEmpty && uncached.isEmpty
  }

  /// Reports what a worker without leases still holds.
  package func checkEnd() {
    if !leases.isEmpty { report("leases without a result: \(leases.map(\.rawValue).sorted())") }
    if !bodies.isEmpty {
      report("bodies that are not released: \(bodies.map(\.rawValue).sorted())")
    }
    if machine.hasReport { report("something is not reported") }
  }

  // MARK: - What is under way

  package var hasOperations: Bool { !operations.isEmpty }

  /// The transfers that ask a host, the oldest first.
  var runningTransfers: [SimulatedTransfer] {
    operations.compactMap { operation in
      if case .transfer(let transfer) = operation { transfer } else { nil }
    }
  }

  /// The transfers that ask a host, the oldest first, and the hosts.
  package var requests: [(transfer: TransferID, host: String)] {
    runningTransfers.map { ($0.id, $0.url.host) }
  }

  /// The leases whose pictures wait for the decoder or are being decoded, the oldest first.
  package var decodes: [LeaseID] {
    operations.compactMap { operation in
      if case .decode(let order, _) = operation { order.lease } else { nil }
    }
  }

  // MARK: - Time passes

  /// More arrives of the bodies of which previews or progress are wanted.
  private func growBodies(_ random: inout SeededGenerator, at now: Moment) {
    for transfer in machine.watchedTransfers.sorted() {
      arrivedByteCounts[transfer, default: 0] += Int.random(in: 0...1_000, using: &random)
      let progress = ImageProgress(receivedByteCount: arrivedByteCounts[transfer, default: 0])
      feed(.bodyGrew(transfer, to: progress), at: now)
    }
  }

  /// Some transfers are slow for a while.
  private func measure(_ random: inout SeededGenerator, at now: Moment) {
    guard let deadline = machine.measureDeadline, deadline <= now.instant else { return }
    var measures: [TransferID: TransferMeasure] = [:]
    for transfer in machine.transfersWithSlots {
      arrivedByteCounts[transfer, default: 0] += [0, 1_000_000].randomElement(using: &random) ?? 0
      measures[transfer] = TransferMeasure(
        receivedByteCount: arrivedByteCounts[transfer, default: 0],
        isHeldUp: Int.random(in: 0..<8, using: &random) == 0,
        heldTime: .milliseconds(Int.random(in: 0..<2_000, using: &random)))
    }
    feed(.measured(measures), at: now)
  }

  /// Ends one of the operations under way, if there is one.
  package func step(_ random: inout SeededGenerator, at now: Moment) {
    growBodies(&random, at: now)
    measure(&random, at: now)
    guard !operations.isEmpty else { return endTurn(at: now) }
    let operation = operations.remove(at: Int.random(in: operations.indices, using: &random))
    feed(end(of: operation, &random), at: now)
    // Results may wait for the end of another operation.
    let mayReportLater =
      machine.mayReportLater && hostUpdates.isEmpty && uncached.isEmpty && !operations.isEmpty
    if mayReportLater, Bool.random(using: &random) { return }
    endTurn(at: now)
  }

  // MARK: - The machine

  private func endTurn(at now: Moment) {
    repeat {
      let updates = hostUpdates
      hostUpdates = HostUpdates()
      feed(.turnEnded(updates, decodeQueueCount: decodes.count), at: now)
    } while machine.hasReport
  }

  private func feed(_ event: WorkerMachine.Event, at now: Moment) {
    var events = [event]
    while !events.isEmpty {
      for effect in machine.handle(events.removeFirst(), at: now) {
        events += perform(effect, at: now)
      }
    }
  }

  /// - Returns: the answers that are known at once.
  private func perform(_ effect: WorkerMachine.Effect, at now: Moment) -> [WorkerMachine.Event] {
    switch effect {
    case .send(let message): send(message)
    case .sendUncached: return sendUncached()
    case .deliver(let result): uncached.append(result)

    case .lookUp(let batch): operations.append(.lookup(store.lookUp(batch, at: now.instant)))
    case .findOriginal(let order):
      return [.originalFound(order.lease, store.hasOriginal(of: order.name))]
    case .findStale(let order):
      return [.staleFound(order.lease, store.answers(order) ? .simulated : nil)]
    case .renew(let order): return [.renewalFound(order.lease, renew(order))]
    case .put(let request):
      if let body = request.body { checkHeld(body) }
      operations.append(.put(request))
    case .storePartial(let transfer, _):
      checkHeld(transfer)
      operations.append(.partial(transfer))
    case .removePartial, .sweep, .unpin: break

    case .readRobots(let url):
      let isKnown = store.hasRobots(of: url.origin)
      let known = KnownRobots(SimulatedRobots(), expiresAt: now.wall.advanced(by: .seconds(3_600)))
      return [.robotsRead(of: url, isKnown ? known : nil)]
    case .fetchRobots(let url, _): operations.append(.robots(url))
    case .storeRobots(_, let origin): operations.append(.robotsRecord(origin))

    case .startTransfer(let order): start(order)
    case .setUrgent: break
    case .followRedirect(let transfer, _): follow(transfer)
    case .cancelTransfer(let transfer): cancel(transfer)
    case .releaseBody(let transfer):
      if bodies.remove(transfer) == nil { report("no body of \(transfer.rawValue) to release") }

    case .decode(let order, let source):
      if case .body(let transfer) = source {
        checkHeld(transfer)
        checkRedirects(of: transfer, permittedBy: order)
      }
      operations.append(.decode(order, source))
    case .cancelDecode(let lease): cancelledDecodes.insert(lease)
    case .makePreview(let order): operations.append(.preview(order))
    case .sendPreview(let preview): send(.preview(preview))
    case .stop: isStopped = true
    }
    return []
  }

  private func checkHeld(_ transfer: TransferID) {
    if !bodies.contains(transfer) { report("the body of \(transfer.rawValue) is not held") }
  }

  private func checkRedirects(of transfer: TransferID, permittedBy order: FetchOrder) {
    let origins = order.options.redirectOrigins
    if !redirects[transfer, default: []].allSatisfy(origins.permits) {
      report("lease \(order.lease.rawValue) gets a body from where it permits no redirect")
    }
  }

  private func renew(_ order: FetchOrder) -> RenewalFinding {
    guard order.mayRevalidate, store.answers(order) else { return .unmatched }
    guard order.request.keep != .original else { return .original(.none) }
    operations.append(.renewal(order))
    return .thumbnail(.simulated)
  }

  // MARK: - Transfers

  private func start(_ order: FetchOrder) {
    let transfer = SimulatedTransfer(order: order, url: order.url)
    let id = transfer.id
    if runningTransfers.contains(where: { $0.id == id }) || redirected[id] != nil {
      report("transfer \(id.rawValue) runs twice")
    }
    if endedTransfers.contains(id) { report("transfer \(id.rawValue) is over") }
    checkRobots(of: transfer)
    operations.append(.transfer(transfer))
  }

  private func follow(_ id: TransferID) {
    guard let transfer = redirected.removeValue(forKey: id) else {
      return report("transfer \(id.rawValue) waits at no redirect")
    }
    checkRobots(of: transfer)
    operations.append(.transfer(transfer))
  }

  private func checkRobots(of transfer: SimulatedTransfer) {
    if transfer.order.options.respectsRobots, SimulatedOrigins.isClosed(transfer.url) {
      report("transfer \(transfer.id.rawValue) is against robots.txt")
    }
  }

  /// Transfers that wait for a robots.txt have not started.
  private func cancel(_ id: TransferID) {
    redirected[id] = nil
    endedTransfers.insert(id)
    operations.removeAll { operation in
      if case .transfer(let transfer) = operation { transfer.id == id } else { false }
    }
  }

  // MARK: - Messages

  private func send(_ message: WorkerMessage) {
    messages.append(message)
    switch message {
    case .lookedUp(let results):
      for lease in results.hits.map(\.lease) + results.originals + results.misses
      where lookups.remove(lease) == nil {
        report("look-up \(lease.rawValue) is answered twice")
      }
    case .transferred(let leases):
      for lease in leases where !leases.contains(lease) {
        report("lease \(lease.rawValue) is over before its transfer")
      }
    case .redirected(let redirections):
      for redirection in redirections where redirected[redirection.transfer] == nil {
        // Its leases may have left in the same turn.
        if !endedTransfers.contains(redirection.transfer) {
          report("transfer \(redirection.transfer.rawValue) is not redirected")
        }
      }
    case .released(let leases), .unpinned(let leases):
      for lease in leases where lookups.remove(lease) == nil { end(lease) }
    case .finished(let list): list.results.forEach { end($0.lease) }
    case .uncached(let result): end(result.lease)
    case .preview(let preview):
      if !leases.contains(preview.lease) {
        report("a preview for lease \(preview.lease.rawValue), which is over")
      }
    case .progress(let entries):
      for lease in entries.map(\.lease) where !leases.contains(lease) {
        report("progress of lease \(lease.rawValue), which is over")
      }
    case .hello, .ready, .refused, .hostUpdates, .startDecoder, .endDecoder, .store, .sandboxed:
      break
    }
  }

  private func end(_ lease: LeaseID) {
    if leases.remove(lease) == nil { report("lease \(lease.rawValue) ends twice") }
  }

  /// Every seventh result finds no file.
  private func sendUncached() -> [WorkerMachine.Event] {
    defer { uncached = [] }
    return uncached.map { result in
      guard !result.lease.rawValue.isMultiple(of: 7) else {
        return .uncachedFailed(result.lease, detail: "EMFILE")
      }
      send(.uncached(result))
      return .uncachedSent(result.lease)
    }
  }
}
