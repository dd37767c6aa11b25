package import ImgModel
package import ImgWire
import ImgWorkerMachine
package import SeededRandom

/// A real machine of a worker whose origins, store and decoder are models. What it started ends when
/// ``step(_:at:)`` picks it, in any order and with any result.
///
/// It checks what the machine does: every lease ends once, every body is used while it is held and is
/// released once, no transfer runs twice.
package final class SimulatedWorker {
  private enum Operation {
    case transfer(FetchOrder, isConditional: Bool)
    case robots(ImageURL)
    case decode(FetchOrder, DecodeSource)
    case put(StoreRequest)
    case renewal(LeaseID)
    case partial(TransferID)
    case robotsRecord(String)
    case lookup(LookupResults)
  }

  private var machine: WorkerMachine
  private let store: SimulatedStore
  /// Is told everything that is against the rules.
  private let report: (String) -> Void

  private var operations: [Operation] = []
  /// Transfers that wait at a redirect.
  private var redirected: [TransferID: FetchOrder] = [:]
  private var hopCounts: [TransferID: Int] = [:]
  private var endedTransfers: Set<TransferID> = []
  private var bodies: Set<TransferID> = []
  private var cancelledDecodes: Set<LeaseID> = []
  private var uncached: [UncachedResult] = []
  private var lookups: Set<LeaseID> = []
  /// Leases without a result.
  package private(set) var leases: Set<LeaseID> = []
  private var messages: [WorkerMessage] = []
  package private(set) var isStopped = false

  package init(
    _ store: SimulatedStore, at now: Moment, report: @escaping (String) -> Void
  ) {
    self.store = store
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
    case .welcome, .followRedirects, .cancel, .sweep, .drain: break
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
    if !bodies.isEmpty { report("bodies that are not released: \(bodies.map(\.rawValue))") }
    if machine.hasReport { report("something is not reported") }
  }

  // MARK: - Time passes

  /// Ends one of the operations under way, if there is one.
  package func step(_ random: inout SeededGenerator, at now: Moment) {
    guard !operations.isEmpty else { return endTurn(at: now) }
    let operation = operations.remove(at: Int.random(in: operations.indices, using: &random))
    feed(end(of: operation, &random), at: now)
    endTurn(at: now)
  }

  private func end(
    of operation: Operation, _ random: inout SeededGenerator
  ) -> WorkerMachine.Event {
    switch operation {
    case .transfer(let order, let isConditional):
      return endTransfer(order, isConditional: isConditional, &random)
    case .robots(let url): return .robotsFetched(origin: url.origin, robotsAnswer(&random))
    case .decode(let order, let source): return endDecode(order, source, &random)
    case .put(let request):
      if Int.random(in: 0..<8, using: &random) == 0 {
        let failure = Failure(stage: .store, code: .storeFull, detail: "full")
        let refusal = StoreRefusal(
          failure: failure, isStoreDegraded: Bool.random(using: &random))
        return .stored(request.order.lease, .refused(refusal))
      }
      store.put(request)
      return .stored(request.order.lease, .stored)
    case .renewal(let lease):
      return .stored(lease, Bool.random(using: &random) ? .stored : .missing)
    case .partial(let transfer): return .partialStored(transfer)
    case .robotsRecord(let origin):
      store.putRobots(of: origin)
      return .robotsStored(origin: origin)
    case .lookup(let results): return .lookedUp(results)
    }
  }

  private func endTransfer(
    _ order: FetchOrder, isConditional: Bool, _ random: inout SeededGenerator
  ) -> WorkerMachine.Event {
    let id = TransferID(startedBy: order.lease)
    let hopCount = hopCounts[id, default: 0]
    let choice = Int.random(in: 0..<12, using: &random)
    if choice < 2, hopCount < 3, let url = try? ImageURL(parsing: "http://other.example/b") {
      hopCounts[id] = hopCount + 1
      redirected[id] = order
      return .redirected(id, Redirect(url: url, leavesHost: choice == 0))
    }
    if choice == 2, isConditional, order.mayRevalidate, store.answers(order) {
      endedTransfers.insert(id)
      return .transferEnded(id, TransferEnd(.notModified))
    }
    endedTransfers.insert(id)
    let leftover = [TransferEnd.Leftover.unchanged, .obsolete, .partial][
      Int.random(in: 0..<3, using: &random)]
    let result: TransferEnd.Result =
      switch choice {
      case 3: .failed(Failure(stage: .fetch, code: .truncatedBody, detail: "broken"))
      case 4: .failed(Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: ""))
      case 5 where order.options.respectsOptOut: .failed(Self.optOut)
      case 6: .deferred
      default:
        .body(
          BodyFacts(
            byteCount: 10, receivedByteCount: 10,
            reuse: AnswerReuse(terms: .none, isStorable: Bool.random(using: &random)),
            optOut: choice == 7 ? Self.optOut : nil))
      }
    return .transferEnded(id, end(of: id, with: result, leaving: leftover))
  }

  /// What the pool says of a transfer, and what it leaves.
  private func end(
    of id: TransferID, with result: TransferEnd.Result, leaving leftover: TransferEnd.Leftover
  ) -> TransferEnd {
    let wasRedirected = hopCounts[id] != nil
    switch result {
    case .body:
      bodies.insert(id)
      return TransferEnd(
        result, freshByteCount: 10, wasRedirected: wasRedirected,
        leftover: leftover == .partial ? .unchanged : leftover)
    case .failed(let failure) where failure.code == .truncatedBody:
      if leftover == .partial { bodies.insert(id) }
      return TransferEnd(
        result, freshByteCount: 5, wasRedirected: wasRedirected, leftover: leftover)
    case .failed, .notModified, .deferred:
      return TransferEnd(result, wasRedirected: wasRedirected)
    }
  }

  private static let optOut = Failure(stage: .fetch, code: .optedOut, detail: "not wanted")

  private func robotsAnswer(_ random: inout SeededGenerator) -> RobotsAnswer {
    let failure = Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "")
    return switch Int.random(in: 0..<6, using: &random) {
    case 0: .unavailable(failure, isDeferred: false)
    case 1: .unavailable(failure, isDeferred: true)
    default: .rules(SimulatedRobots())
    }
  }

  private func endDecode(
    _ order: FetchOrder, _ source: DecodeSource, _ random: inout SeededGenerator
  ) -> WorkerMachine.Event {
    let lease = order.lease
    if cancelledDecodes.remove(lease) != nil, Bool.random(using: &random) {
      return .decoded(lease, .cancelled, time: nil)
    }
    if source == .storedOriginal, !store.hasOriginal(of: order.name) {
      return .decoded(lease, .sourceMissing, time: nil)
    }
    if Int.random(in: 0..<8, using: &random) == 0 {
      let failure = Failure(stage: .decode, code: .corruptImage, detail: "")
      return .decoded(lease, .failed(failure), time: .milliseconds(1))
    }
    let original = OriginalFacts(
      picture: .simulated, sourceByteCount: 10, storedAt: WallTime(rawValue: 0),
      expiresAt: WallTime(rawValue: 4_000_000_000_000), terms: .none)
    let picture = DecodedPicture(
      thumbnail: .simulated, source: SourceFacts(format: .png, width: 9, height: 9, frames: 1),
      original: source == .storedOriginal ? original : nil,
      localByteCount: source == .url ? 10 : nil)
    return .decoded(lease, .picture(picture), time: .milliseconds(1))
  }

  // MARK: - The machine

  private func endTurn(at now: Moment) {
    repeat {
      feed(.turnEnded(HostUpdates(), decodeQueueCount: 0), at: now)
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
  private func perform(
    _ effect: WorkerMachine.Effect, at now: Moment
  ) -> [WorkerMachine.Event] {
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
    case .extendOriginal, .removePartial, .sweep: break

    case .readRobots(let url):
      let isKnown = store.hasRobots(of: url.origin)
      let known = KnownRobots(
        SimulatedRobots(), expiresAt: now.wall.advanced(by: .seconds(3_600)))
      return [.robotsRead(of: url, isKnown ? known : nil)]
    case .fetchRobots(let url): operations.append(.robots(url))
    case .storeRobots(_, let origin): operations.append(.robotsRecord(origin))

    case .startTransfer(let order): start(order)
    case .followRedirect(let transfer, _): follow(transfer)
    case .cancelTransfer(let transfer): cancel(transfer)
    case .releaseBody(let transfer):
      if bodies.remove(transfer) == nil { report("no body of \(transfer.rawValue) to release") }

    case .decode(let order, let source):
      if case .body(let transfer) = source { checkHeld(transfer) }
      operations.append(.decode(order, source))
    case .cancelDecode(let lease): cancelledDecodes.insert(lease)
    case .stop: isStopped = true
    }
    return []
  }

  private func checkHeld(_ transfer: TransferID) {
    if !bodies.contains(transfer) { report("the body of \(transfer.rawValue) is not held") }
  }

  private func renew(_ order: FetchOrder) -> RenewalFinding {
    guard order.mayRevalidate, store.answers(order) else { return .unmatched }
    guard order.request.keep != .original else { return .original(.none) }
    operations.append(.renewal(order.lease))
    return .thumbnail(.simulated)
  }

  // MARK: - Transfers

  private func isRunning(_ id: TransferID) -> Bool {
    operations.contains { operation in
      if case .transfer(let order, _) = operation {
        order.lease.rawValue == id.rawValue
      } else {
        false
      }
    }
  }

  private func start(_ order: FetchOrder) {
    let id = TransferID(startedBy: order.lease)
    if isRunning(id) || redirected[id] != nil { report("transfer \(id.rawValue) runs twice") }
    if endedTransfers.contains(id) { report("transfer \(id.rawValue) is over") }
    if order.options.respectsRobots, order.url.text.contains("/closed") {
      report("transfer \(id.rawValue) is against robots.txt")
    }
    operations.append(.transfer(order, isConditional: true))
  }

  private func follow(_ id: TransferID) {
    guard let order = redirected.removeValue(forKey: id) else {
      return report("transfer \(id.rawValue) waits at no redirect")
    }
    operations.append(.transfer(order, isConditional: false))
  }

  /// Transfers that wait for a robots.txt have not started.
  private func cancel(_ id: TransferID) {
    redirected[id] = nil
    endedTransfers.insert(id)
    operations.removeAll { operation in
      if case .transfer(let order, _) = operation {
        order.lease.rawValue == id.rawValue
      } else {
        false
      }
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
    case .transferred(let list):
      for lease in list.leases where !leases.contains(lease) {
        report("lease \(lease.rawValue) is over before its transfer")
      }
    case .redirected(let list):
      for redirection in list.redirections where redirected[redirection.transfer] == nil {
        // Its leases may have left in the same turn.
        if !endedTransfers.contains(redirection.transfer) {
          report("transfer \(redirection.transfer.rawValue) is not redirected")
        }
      }
    case .released(let list): list.leases.forEach { end($0) }
    case .finished(let list): list.results.forEach { end($0.lease) }
    case .uncached(let result): end(result.lease)
    case .hello, .ready, .refused, .hostUpdates: break
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

/// Closes the paths that begin with `/closed`.
private struct SimulatedRobots: RobotsRuleSet {
  let text = "Disallow: /closed"

  func permits(_ url: ImageURL) throws(Failure) -> Bool {
    !url.text.dropFirst(url.origin.count).hasPrefix("/closed")
  }
}
