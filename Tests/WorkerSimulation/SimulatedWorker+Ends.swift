import ImgModel
import ImgWire
import ImgWorkerMachine
import SeededRandom

/// How the operations of a worker end.
extension SimulatedWorker {
  func end(of operation: Operation, _ random: inout SeededGenerator) -> WorkerMachine.Event {
    switch operation {
    case .transfer(let transfer): return end(transfer, &random)
    case .robots(let url):
      let (answer, retryAfter) = origins.robots(&random)
      noteCooldown(of: url.host, retryAfter)
      return .robotsFetched(origin: url.origin, answer)
    case .decode(let order, let source): return endDecode(order, source, &random)
    case .put(let request):
      if let refusal = store.refusal(&random) {
        return .stored(request.order.lease, .refused(refusal))
      }
      store.put(request)
      if refusesPins(of: request.order, &random) { return .unpinned([request.order.lease]) }
      let isThere = !request.extendsOriginal || store.hasOriginal(of: request.order.name)
      return .stored(request.order.lease, isThere ? .stored : .missing)
    case .renewal(let order):
      if refusesPins(of: order, &random) { return .unpinned([order.lease]) }
      return .stored(order.lease, Bool.random(using: &random) ? .stored : .missing)
    case .partial(let transfer): return .partialStored(transfer)
    case .robotsRecord(let origin):
      let isStored = store.refusal(&random) == nil
      if isStored { store.putRobots(of: origin) }
      return .robotsStored(origin: origin, isStored: isStored)
    case .lookup(let results): return .lookedUp(results)
    case .preview(let order):
      let ends: [PreviewEnd] = [.made(.simulated, shownByteCount: 1), .later, .busy, .never]
      return .previewed(order, ends[Int.random(in: ends.indices, using: &random)])
    }
  }

  /// Whether there is no room to pin what the order stores.
  private func refusesPins(of order: FetchOrder, _ random: inout SeededGenerator) -> Bool {
    !order.retention.pins.isEmpty && !store.isCalm && Int.random(in: 0..<5, using: &random) == 0
  }

  // MARK: - Transfers

  private func end(
    _ transfer: SimulatedTransfer, _ random: inout SeededGenerator
  ) -> WorkerMachine.Event {
    let id = transfer.id
    let order = transfer.order
    let mayMatch = order.mayRevalidate && store.answers(order)
    switch origins.answer(transfer, mayMatch: mayMatch, &random) {
    case .redirect(let url):
      var next = transfer
      next.url = url
      next.redirects.append(url)
      redirected[id] = next
      return .redirected(id, url)
    case .notModified:
      endedTransfers.insert(id)
      return .transferEnded(id, TransferEnd(.notModified))
    case .failed(let failure, let retryAfter):
      noteCooldown(of: transfer.url.host, retryAfter)
      return .transferEnded(
        id,
        failure.code == .truncatedBody
          ? endBroken(transfer, failure, &random) : endWithoutBody(transfer, .failed(failure)))
    case .deferred(let seconds):
      noteCooldown(of: transfer.url.host, seconds)
      return .transferEnded(id, endWithoutBody(transfer, .deferred))
    case .body(let optOut):
      return .transferEnded(id, endWithBody(transfer, optOut, &random))
    }
  }

  private func endWithBody(
    _ transfer: SimulatedTransfer, _ optOut: Failure?, _ random: inout SeededGenerator
  ) -> TransferEnd {
    endedTransfers.insert(transfer.id)
    bodies.insert(transfer.id)
    redirects[transfer.id] = transfer.redirects
    let facts = BodyFacts(
      byteCount: 10, receivedByteCount: 10,
      reuse: AnswerReuse(terms: .none, isStorable: Bool.random(using: &random)), optOut: optOut)
    return TransferEnd(
      .body(facts), freshByteCount: 10, wasRedirected: !transfer.redirects.isEmpty,
      leftover: Bool.random(using: &random) ? .unchanged : .obsolete)
  }

  private func endBroken(
    _ transfer: SimulatedTransfer, _ failure: Failure, _ random: inout SeededGenerator
  ) -> TransferEnd {
    endedTransfers.insert(transfer.id)
    let leftovers = [TransferEnd.Leftover.unchanged, .obsolete, .partial]
    let leftover = leftovers[Int.random(in: leftovers.indices, using: &random)]
    if leftover == .partial { bodies.insert(transfer.id) }
    return TransferEnd(
      .failed(failure), freshByteCount: 5, wasRedirected: !transfer.redirects.isEmpty,
      leftover: leftover)
  }

  private func endWithoutBody(
    _ transfer: SimulatedTransfer, _ result: TransferEnd.Result
  ) -> TransferEnd {
    endedTransfers.insert(transfer.id)
    return TransferEnd(result, wasRedirected: !transfer.redirects.isEmpty)
  }

  private func noteCooldown(of host: String, _ seconds: Int64?) {
    guard let seconds else { return }
    hostUpdates.cooldowns.append(
      HostCooldown(
        host: host, origin: "http://\(host)", seconds: seconds, httpStatus: 503))
  }

  // MARK: - Decodes

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
    if SimulatedOrigins.isDeadly(order.url) {
      let failure = Failure(stage: .decode, code: .decodeCrash, detail: "")
      return .decoded(lease, .failed(failure), time: .milliseconds(1))
    }
    if !origins.isCalm, Int.random(in: 0..<8, using: &random) == 0 {
      let failure = Failure(stage: .decode, code: .corruptImage, detail: "")
      return .decoded(lease, .failed(failure), time: .milliseconds(1))
    }
    let original = CacheRecord(
      id: ContentKey(0, 0, 0, 1), name: "", kind: .original, thumbnail: .simulated,
      source: SourcePicture(format: .png, width: 9, height: 9, byteCount: 10),
      storageTime: WallTime(rawValue: 0), expiryTime: WallTime(rawValue: 4_000_000_000_000))
    let path = order.request.keep == .undecodedOriginal ? DecodePath.undecoded : .general
    let picture = DecodedPicture(
      thumbnail: .simulated,
      source: SourceFacts(format: .png, width: 9, height: 9, frames: 1, decodePath: path),
      original: source == .storedOriginal ? original : nil,
      localByteCount: source == .url ? 10 : nil)
    return .decoded(lease, .picture(picture), time: .milliseconds(1))
  }
}
