import ImgModel
import ImgScheduler
import WorkerSimulation

/// What models of workers do.
extension Scenario {
  private mutating func worker(where isFit: (WorkerModel) -> Bool) -> WorkerModel? {
    cluster.workers.values.filter(isFit).sorted { $0.id < $1.id }.randomElement(using: &random)
  }

  mutating func answerLookup() {
    guard let worker = worker(where: { !$0.lookups.isEmpty }) else { return }
    cluster.answerLookup(of: worker.id, refusingPins: Int.random(in: 0..<5, using: &random) == 0)
  }

  /// A body is in, or its transfer has failed, or those who wanted it have all left.
  mutating func endTransfer() {
    guard let worker = worker(where: { $0.transfers.contains { $0.state == .receiving } }),
      let transfer = worker.transfers.filter({ $0.state == .receiving })
        .randomElement(using: &random)
    else { return }
    let leases = worker.fetches.filter { $0.transfer == transfer.id }
    if leases.allSatisfy({ worker.cancelled.contains($0.lease) }) {
      leases.forEach { cluster.finish($0, of: worker.id, .cancelled) }
    } else if Int.random(in: 0..<5, using: &random) == 0 || isDown(cluster.host(of: transfer.url)) {
      fail(leases, of: worker.id)
    } else if Int.random(in: 0..<10, using: &random) == 0 {
      holdBack(leases, of: worker.id)
    } else if Int.random(in: 0..<4, using: &random) == 0 {
      let hosts = (0..<4).map { "host\($0)" }
      cluster.redirect(
        transfer.id, of: worker.id, to: hosts.randomElement(using: &random) ?? "host0")
    } else if leases.contains(where: cluster.store.holds), Bool.random(using: &random) {
      cluster.notModified(transfer.id, of: worker.id)
    } else {
      cluster.transferred(transfer.id, of: worker.id)
    }
  }

  /// A transfer turns slow or fast. The worker may report the same pace twice.
  mutating func changePace() {
    guard let worker = worker(where: { $0.transfers.contains { $0.state == .receiving } }),
      let transfer = worker.transfers.filter({ $0.state == .receiving })
        .randomElement(using: &random)
    else { return }
    cluster.turn(transfer.id, of: worker.id, slow: Int.random(in: 0..<4, using: &random) > 0)
  }

  /// Each lease of a transfer hears of its failure, or is served from the store all the same.
  private mutating func fail(_ leases: [WorkerModel.Fetch], of worker: WorkerID) {
    let failure = Failure(
      stage: .fetch, code: .httpStatus, httpStatus: [404, 429, 503].randomElement(using: &random),
      detail: "made to fail")
    let hasRetryAfter = Bool.random(using: &random)
    let retryAfter: Int64? = hasRetryAfter ? .random(in: 0...9, using: &random) : nil
    for lease in leases {
      let isServed = cluster.store.holds(lease) && Bool.random(using: &random)
      // Kept for as long as it asks, though not as if stored again.
      if isServed { cluster.store.keep(lease) }
      cluster.finish(
        lease, of: worker, isServed ? .cachedSample : .failed(failure), retryAfter: retryAfter,
        failureBehind: isServed ? failure : nil)
    }
  }

  /// The worker hears that the host wants to be left alone, before it has asked it for these.
  private mutating func holdBack(_ leases: [WorkerModel.Fetch], of worker: WorkerID) {
    cluster.rest(
      leases.first.flatMap { cluster.host(of: $0.url) },
      seconds: .random(in: 0...9, using: &random), noticedBy: worker)
    for lease in leases { cluster.release(lease, of: worker) }
  }

  /// One host fails always, so that it is left alone, as long as anything may go wrong.
  private func isDown(_ host: String?) -> Bool { host == "host3" && cluster.isMailHeld }

  /// A picture is decoded, and then stored or not.
  mutating func endDecode() {
    cluster.decodeQueueCount = .random(in: 0...4, using: &random)
    guard let worker = worker(where: { $0.transfers.contains { $0.state != .receiving } }),
      let fetch = worker.fetches.filter({ worker.transfer($0.transfer)?.state != .receiving })
        .randomElement(using: &random)
    else { return }
    // The body goes before the thumbnail is in the store, and who asks between comes too late.
    let others = worker.fetches.count { $0.transfer == fetch.transfer }
    if others == 1, worker.transfer(fetch.transfer)?.state == .held,
      Bool.random(using: &random)
    {
      cluster.workers[worker.id]?.setState(.gone, of: fetch.transfer)
      return
    }
    guard Int.random(in: 0..<4, using: &random) > 0 else {
      return cluster.finish(fetch, of: worker.id, .failure(.corruptImage, stage: .decode))
    }
    // Now and then the store has no room: to pin it, or at all.
    if !fetch.retention.pins.isEmpty, Int.random(in: 0..<5, using: &random) == 0 {
      return cluster.refusePin(fetch, of: worker.id)
    }
    let isRefused = Int.random(in: 0..<5, using: &random) == 0
    if fetch.bypassesStore || fetch.keep == .none || isRefused {
      let isKept = !fetch.bypassesStore && fetch.keep != .none
      return cluster.makeUncached(
        fetch, of: worker.id, isStoreDegraded: isKept && Bool.random(using: &random))
    }
    cluster.store.keep(fetch)
    // Now and then it has to go at once.
    if Bool.random(using: &random) { cluster.store.evict(fetch) }
    cluster.finish(fetch, of: worker.id, .fetchedSample)
  }

  /// An original is evicted. A decode of it that has not begun finds it gone.
  mutating func loseOriginal() {
    guard let url = cluster.store.originals.keys.sorted().randomElement(using: &random) else {
      return
    }
    cluster.store.originals[url] = nil
    guard let worker = worker(where: { $0.decodesOriginal(of: url) }) else { return }
    for fetch in worker.fetches where worker.isFromOriginal(fetch) && fetch.url == url {
      cluster.release(fetch, of: worker.id)
    }
  }

  /// The freshness of a picture ends, by HTTP.
  mutating func goStale() {
    let urls = cluster.store.thumbnails.keys.map(\.url) + cluster.store.originals.keys
    guard let url = urls.sorted().randomElement(using: &random) else { return }
    cluster.store.stale[url] = Bool.random(using: &random)
  }

  /// A worker tells how much of the store is pinned.
  mutating func reportStore() {
    cluster.reportStore(pinned: .random(in: 0...1_000, using: &random), of: 1_000)
  }

  // MARK: - Answers on their way

  mutating func deliverMail() {
    guard let index = cluster.mail.indices.randomElement(using: &random) else { return }
    let event = cluster.mail.remove(at: index)
    oldAnswers.append(event)
    cluster.handle(event)
  }

  /// Said twice, or by a worker that is long dead.
  mutating func repeatAnswer() {
    guard let event = oldAnswers.randomElement(using: &random) else { return }
    cluster.handle(event)
  }

  /// The worker lives on, but this is never heard of.
  mutating func loseAnswer() {
    guard let index = cluster.mail.indices.randomElement(using: &random) else { return }
    cluster.mail.remove(at: index)
  }
}

/// What workers with real machines do.
extension Scenario {
  mutating func happen(in fleet: WorkerFleet) {
    switch Int.random(in: 0..<306, using: &random) {
    case 0..<10: submit()
    case 10..<26: view()
    case 26..<32: leave()
    case 32..<42: changeJob()
    case 42..<44: changeLimits()
    case 44..<84: cluster.deliverJournal(.random(in: 1...4, using: &random))
    case 84..<130: if let id = randomWorker() { fleet.deliver(to: id, at: cluster.now) }
    case 130..<180: if let id = randomWorker() { cluster.hear(id, of: fleet) }
    case 180..<250: if let id = randomWorker() { work(id, of: fleet) }
    case 250..<258: becomeReady()
    case 258..<262: die()
    case 262..<265: observe()
    case 265..<270: exitKilled()
    case 270: restart()
    case 271: cluster.setClock(by: .seconds(.random(in: -100_000...100_000, using: &random)))
    case 272: cluster.handle(.failuresForgotten([randomLine()]))
    case 273: cluster.refuseChanges()
    case 274..<276: fleet.store.evict(&random)
    case 276: fleet.store.isFull.toggle()
    case 277: fleet.store.servesStale.toggle()
    case 278..<282: reportStore()
    case 282..<288: endClientFetch()
    default: cluster.advance(by: .milliseconds(.random(in: 1...3_000, using: &random)))
    }
  }

  /// The worker ends one of its operations, and with the last one perhaps its process.
  ///
  /// - Returns: whether anything has happened.
  @discardableResult
  private mutating func work(_ id: WorkerID, of fleet: WorkerFleet) -> Bool {
    let hasEnded = fleet.step(id, &random, at: cluster.now)
    guard fleet.hasLeft(id) else { return hasEnded }
    cluster.exit(id, .left, transferringLease: nil)
    return true
  }

  // MARK: - The end

  /// From here on only the deadly pictures do harm.
  func calm(_ fleet: WorkerFleet) {
    fleet.origins.isCalm = true
    fleet.store.isCalm = true
    fleet.store.isFull = false
  }

  /// Messages arrive and operations end until nothing is under way.
  mutating func finishEverything(in fleet: WorkerFleet) {
    var isMoving = true
    while isMoving, faults.isEmpty {
      isMoving = !cluster.askedViewers.isEmpty
      for viewer in cluster.askedViewers { cluster.bringFetched(for: viewer) }
      for id in fleet.ids {
        let moves = [
          fleet.deliver(to: id, at: cluster.now), cluster.hear(id, of: fleet), work(id, of: fleet),
        ]
        finalMoveCount += moves.count(where: \.self)
        if moves.contains(true) { isMoving = true }
      }
      if finalMoveCount > Self.finalMoveMaximum {
        cluster.fail("workers go on without end: \(finalMoveCount) moves")
      }
    }
  }
}
