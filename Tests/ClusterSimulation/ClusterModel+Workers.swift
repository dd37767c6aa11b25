import ImgModel
import ImgScheduler
import ImgWire

/// What workers may do.
extension ClusterModel {
  /// URLs being fetched or decoded, in the order of their leases.
  var fetching: [String] {
    workers.values.flatMap(\.fetches).sorted { $0.lease < $1.lease }.map(\.url)
  }

  var lookupCount: Int { workers.values.flatMap(\.lookups).flatMap(\.items).count }

  /// Leases that the workers were told to abort and that have not ended.
  var cancelledLeases: [LeaseID] { workers.values.flatMap(\.cancelled).sorted() }

  /// Answers every look-up, and those which that leads to, from the store.
  func answerLookups() {
    while let worker = workers.values.filter({ !$0.lookups.isEmpty }).map(\.id).min() {
      answerLookup(of: worker)
    }
  }

  /// Answers the worker's oldest look-up.
  ///
  /// - Parameter refusesPins: whether there is no room to pin what is found.
  func answerLookup(of worker: WorkerID, refusingPins refusesPins: Bool = false) {
    guard let batch = workers[worker]?.lookups.first else { return }
    workers[worker]?.lookups.removeFirst()
    var found = Dictionary(grouping: batch.items) { store.finding(of: $0.url, in: batch) }
    if refusesPins, !batch.retention.pins.isEmpty {
      let hits = found.removeValue(forKey: .hit) ?? []
      let staleHits = found.removeValue(forKey: .staleHit) ?? []
      say(.fromWorker(worker, .unpinned((hits + staleHits).map(\.lease))))
    }
    let stale = found[.staleHit, default: []]
    let served = found[.hit, default: []] + stale
    // Kept for longer before the answer.
    for item in served { store.extend(item.url, as: batch) }
    let hits = served.map {
      LookupResults.Hit(lease: $0.lease, thumbnail: .sample)
    }
    let results = LookupResults(
      hits: hits, stale: stale.map(\.lease),
      originals: found[.original, default: []].map(\.lease),
      misses: found[.miss, default: []].map(\.lease))
    say(.fromWorker(worker, .lookedUp(results)))
  }

  func isStored(_ url: String, _ variant: Variant = .standard) -> Bool {
    store.thumbnails[StoreModel.Key(url: url, variant: variant)] != nil
  }

  /// The worker and lease that fetch `url`; the newest when there are several.
  func fetch(
    of url: String, variant: Variant? = nil
  ) -> (worker: WorkerID, fetch: WorkerModel.Fetch)? {
    workers.values
      .flatMap { worker in worker.fetches.map { (worker: worker.id, fetch: $0) } }
      .filter { $0.fetch.url == url && (variant == nil || $0.fetch.variant == variant) }
      .max { $0.fetch.lease < $1.fetch.lease }
  }

  /// The last byte of `url` is in, for all attached to it.
  func transferred(_ url: String) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    transferred(fetch.transfer, of: worker)
  }

  func transferred(_ transfer: LeaseID, of worker: WorkerID) {
    guard workers[worker]?.transfer(transfer)?.state == .receiving else { return }
    workers[worker]?.setState(.held, of: transfer)
    let leases = workers[worker]?.fetches.filter { $0.transfer == transfer }.map(\.lease) ?? []
    say(.fromWorker(worker, .transferred(leases)))
  }

  /// The origin of `url` sends the worker on to another host.
  func redirect(_ url: String, to host: String) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    redirect(fetch.transfer, of: worker, to: host)
  }

  func redirect(_ transfer: LeaseID, of worker: WorkerID, to host: String) {
    workers[worker]?.redirect(transfer, to: host)
    let redirection = Redirection(
      transfer: TransferID(startedBy: transfer), host: host, origin: "http://\(host)")
    say(.fromWorker(worker, .redirected([redirection])))
  }

  /// The worker tells that the transfer of `url` has turned slow, or is slow no more.
  func turn(_ url: String, slow isSlow: Bool) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    turn(fetch.transfer, of: worker, slow: isSlow)
  }

  func turn(_ transfer: LeaseID, of worker: WorkerID, slow isSlow: Bool) {
    let id = TransferID(startedBy: transfer)
    let updates = HostUpdates(slow: isSlow ? [id] : [], fast: isSlow ? [] : [id])
    say(.fromWorker(worker, .hostUpdates(updates)))
  }

  /// The worker tells that the limits of bandwidth have held the transfer of `url`.
  func hold(_ url: String, for time: Duration) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    let held = HeldTransfer(TransferID(startedBy: fetch.transfer), for: time)
    say(.fromWorker(worker, .hostUpdates(HostUpdates(held: [held]))))
  }

  /// URLs whose transfers wait for slots where their redirects lead.
  var redirectedURLs: [String] {
    workers.values.flatMap(\.transfers).filter { $0.state == .redirected }
      .sorted { $0.id < $1.id }.map(\.url)
  }

  /// The origin says that what was asked about still holds: who has that in the store is done, the
  /// others are lost.
  func notModified(_ transfer: LeaseID, of worker: WorkerID) {
    transferred(transfer, of: worker)
    workers[worker]?.setState(.gone, of: transfer)
    for fetch in workers[worker]?.fetches.filter({ $0.transfer == transfer }) ?? [] {
      if store.holds(fetch) {
        store.keep(fetch)
        finish(fetch, of: worker, .cachedSample)
      } else {
        release(fetch, of: worker)
      }
    }
  }

  /// What is to be kept is in the store, whether or not the worker has said so.
  func store(_ url: String, variant: Variant? = nil) {
    guard let (_, fetch) = fetch(of: url, variant: variant) else {
      return fail("\(url) is not fetched")
    }
    store.keep(fetch)
  }

  /// The fetch of `url` ends; a success is stored first.
  func finish(
    _ url: String, variant: Variant? = nil, _ outcome: Outcome = .fetchedSample,
    sign: NetworkSign? = nil
  ) {
    guard let (worker, fetch) = fetch(of: url, variant: variant) else {
      return fail("\(url) is not fetched")
    }
    if case .done = outcome {
      if fetch.bypassesStore { return makeUncached(fetch, of: worker) }
      store(url, variant: fetch.variant)
    }
    finish(fetch, of: worker, outcome, sign: sign)
  }

  /// The picture is made, and the store has not got it.
  ///
  /// - Parameter isStoreDegraded: as against a picture that is too large, or not for the store.
  func makeUncached(
    _ fetch: WorkerModel.Fetch, of worker: WorkerID, isStoreDegraded: Bool = false
  ) {
    workers[worker]?.remove(fetch.lease)
    lastFile += 1
    let result = UncachedResult(
      lease: fetch.lease, made: fetch.bypassesStore || fetch.keep == .none ? .wanted : .refused,
      bytesFetched: 50_000,
      isStoreDegraded: isStoreDegraded)
    say(.fromWorker(worker, .uncached(result), file: MemoryFileID(rawValue: lastFile)))
  }

  /// The fetch of `url` ends with a picture that the store has no room for.
  func refuse(_ url: String) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    makeUncached(fetch, of: worker, isStoreDegraded: true)
  }

  /// The fetch of `url` ends with a picture that the store has no room to pin.
  func refusePin(_ url: String) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    refusePin(fetch, of: worker)
  }

  func refusePin(_ fetch: WorkerModel.Fetch, of worker: WorkerID) {
    store.keep(fetch.withoutPins)
    workers[worker]?.remove(fetch.lease)
    say(.fromWorker(worker, .unpinned([fetch.lease])))
  }

  /// - Parameters:
  ///   - retryAfter: seconds for which the host wants to be left alone.
  ///   - failureBehind: of the transfer, where the store has served all the same.
  func finish(
    _ fetch: WorkerModel.Fetch, of worker: WorkerID, _ outcome: Outcome, retryAfter: Int64? = nil,
    wasRedirected: Bool = false, failureBehind: Failure? = nil, sign: NetworkSign? = nil
  ) {
    workers[worker]?.remove(fetch.lease)
    if let retryAfter {
      rest(
        host(of: fetch.url), seconds: retryAfter, httpStatus: outcome.failedHTTPStatus ?? 503,
        noticedBy: worker)
    }
    let result = FetchResults.Result(
      lease: fetch.lease, outcome: outcome, wasRedirected: wasRedirected,
      failureBehind: failureBehind, sign: sign)
    let results = FetchResults(results: [result], decodeQueueCount: decodeQueueCount)
    say(.fromWorker(worker, .finished(results)))
  }

  /// A host says for how long it wants to be left alone.
  ///
  /// - Parameter httpStatus: of the response that says so.
  func rest(_ host: String?, seconds: Int64, httpStatus: Int = 503, noticedBy worker: WorkerID) {
    guard let host else { return }
    let cooldown = HostCooldown(
      host: host, origin: "http://\(host)", seconds: seconds, httpStatus: httpStatus)
    say(.fromWorker(worker, .hostUpdates(HostUpdates(cooldowns: [cooldown]))))
  }

  /// What the lease was to be made from is gone.
  func release(_ fetch: WorkerModel.Fetch, of worker: WorkerID) {
    workers[worker]?.remove(fetch.lease)
    say(.fromWorker(worker, .released([fetch.lease])))
  }

  /// Everything outstanding succeeds until nothing is.
  func finishEverything() {
    repeat {
      answerLookups()
      for viewer in askedViewers { bringFetched(for: viewer) }
      if let url = fetching.first {
        transferred(url)
        finish(url)
      }
    } while lookupCount > 0 || !fetching.isEmpty || !askedViewers.isEmpty
  }

  // MARK: - Processes

  /// What a dead worker fetched may be fetched again.
  func endBackoffs() {
    answerLookups()
    advance(by: Backoff.longest)
    answerLookups()
  }

  /// - Parameter url: the URL whose transfer the heartbeat page of the dead worker shows.
  func exit(_ worker: WorkerID, _ end: WorkerEnd, transferring url: String? = nil) {
    let fetch = workers[worker]?.fetches.first { $0.url == url }
    exit(worker, end, transferringLease: fetch?.transfer)
  }

  /// The worker that fetches `url` dies.
  func crash(fetching url: String, _ end: WorkerEnd = .crashed("SIGSEGV")) {
    guard let (worker, _) = fetch(of: url) else { return fail("\(url) is not fetched") }
    exit(worker, end)
  }

  /// A person sets the wall clock; time goes on as before.
  func setClock(by duration: Duration) {
    now = Moment(instant: now.instant, wall: now.wall.advanced(by: duration))
  }

  /// Time passes, and the scheduler hears of it when it wanted to.
  func advance(by duration: Duration) {
    now = Moment(instant: now.instant + duration, wall: now.wall.advanced(by: duration))
    if let deadline = scheduler.deadline, deadline <= now.instant { handle(.timePassed) }
    for (viewer, wait) in scheduler.takeWaitReports(at: now.instant) {
      if !waitingViewers.contains(viewer) { fail("\(viewer) is told of a wait without waiting") }
      waits[viewer, default: []].append(wait)
    }
  }
}

/// The processes of workers, be they models or with real machines.
extension ClusterModel {
  /// The workers that live, the oldest first.
  var livingWorkers: [WorkerID] { fleet?.ids ?? workers.keys.sorted() }

  /// Whether the worker was spawned and its exit is not handled.
  func hasProcess(_ id: WorkerID) -> Bool { fleet?.contains(id) ?? (workers[id] != nil) }

  func isReady(_ id: WorkerID) -> Bool { fleet?.isReady(id) ?? workers[id]?.isReady ?? false }

  func spawn(_ id: WorkerID, number: Int) {
    if let fleet { return fleet.spawn(id, at: now) }
    workers[id] = WorkerModel(id: id, number: number)
    if areWorkersReadyAtOnce { becomingReady.append(id) }
  }

  func ready(_ id: WorkerID) {
    if let fleet { return fleet.makeReady(id, credits) }
    guard workers[id] != nil else { return }
    workers[id]?.isReady = true
    process(.fromWorker(id, .ready(credits)))
  }

  /// The process is gone. What a real machine sent before is heard first.
  ///
  /// - Parameter transferringLease: the name of the transfer that the heartbeat page of the dead
  ///   worker shows.
  func exit(_ id: WorkerID, _ end: WorkerEnd, transferringLease: LeaseID?) {
    fleet?.end(id)
    handle(.workerExiting(id))
    if let fleet { while hear(id, of: fleet) {} }
    fleet?.remove(id)
    workers[id] = nil
    killed.removeAll { $0 == id }
    handle(.workerExited(id, end, transferring: transferringLease))
  }

  // MARK: - Heartbeat pages

  /// The leases that the worker may be decoding, the oldest first.
  func decodes(of id: WorkerID) -> [LeaseID] {
    fleet?.decodes(of: id) ?? workers[id]?.fetches.map(\.lease) ?? []
  }

  /// The leases that name the transfers that the worker receives, the oldest first.
  func receivingTransfers(of id: WorkerID) -> [LeaseID] {
    fleet?.requests(of: id).map { LeaseID(rawValue: $0.transfer.rawValue) }
      ?? workers[id]?.receiving.map(\.id) ?? []
  }
}
