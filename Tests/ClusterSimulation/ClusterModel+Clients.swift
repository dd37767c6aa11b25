import ImgModel
import ImgScheduler
import ImgWire

/// What clients may do.
extension ClusterModel {
  @discardableResult
  func submit(
    _ lines: [String], variant: Variant = .standard, expiry: Expiry = .standard,
    priority: Int = 0, order: LineOrder = .firstInFirstOut, delay: Duration = .zero,
    timeout: Duration? = nil, keep: Keep = .thumbnail, fetch: FetchOptions = .standard,
    pinPolicy: PinPolicy = .none, namesFiles: Bool = false, ratePerMinute: Int = 0,
    attempts: Int? = nil
  ) -> JobID {
    submit(
      count: lines.count, variant: variant, expiry: expiry, priority: priority,
      order: order, delay: delay, timeout: timeout, keep: keep, fetch: fetch, pinPolicy: pinPolicy,
      namesFiles: namesFiles, ratePerMinute: ratePerMinute, attempts: attempts
    ) { lines[$0] }
  }

  @discardableResult
  func submit(
    count: Int, variant: Variant = .standard, expiry: Expiry = .standard, priority: Int = 0,
    order: LineOrder = .firstInFirstOut, delay: Duration = .zero, timeout: Duration? = nil,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, pinPolicy: PinPolicy = .none,
    namesFiles: Bool = false, lacksHeaders: Bool = false, ratePerMinute: Int = 0,
    attempts: Int? = nil,
    line: @escaping (Int) -> String?
  ) -> JobID {
    lastJob += 1
    let files =
      namesFiles ? (0..<count).compactMap(line).count(where: ImageURL.isReadByCommand(line:)) : nil
    var record = JobRecord(
      id: JobID(rawValue: lastJob),
      options: RequestOptions(
        variant: variant, expiry: expiry, priority: priority,
        delay: delay, timeout: timeout, hostRatePerMinute: ratePerMinute, attempts: attempts,
        keep: keep, fetch: fetch),
      order: order, pinPolicy: pinPolicy, namesFiles: namesFiles, state: .queued,
      counts: JobCounts(total: count, localFiles: files), submittedAt: now.wall)
    record.lacksHeaders = lacksHeaders
    journal.add(record, line: line)
    handle(.jobAccepted(record))
    return record.id
  }

  /// Changes a job as the coordinator does: what is not legal is refused, what has ended is
  /// changed by the journal alone.
  ///
  /// - Returns: whether the change was begun.
  @discardableResult
  func change(_ id: JobID, _ change: ImageJobChange) -> Bool {
    let isActive = scheduler.status(of: id) != nil
    let record = isActive ? scheduler.changeableRecord(of: id) : journal.jobs[id]?.record
    guard var changed = record, !changingJobs.contains(id) else { return false }
    do throws(JobChangeRefusal) {
      try changed.apply(change, at: now.wall)
    } catch {
      return false
    }
    changingJobs.insert(id)
    if case .retry = change { endedJobs[id] = nil }
    guard !isActive else {
      handle(.changeRequested(id, change))
      return true
    }
    journalQueue.append(.change(id, change, at: now.wall))
    if !isJournalHeld { deliverJournal() }
    return true
  }

  /// The disk has no room for the changes that are on their way into the journal.
  func refuseChanges() {
    let changes = journalQueue.filter { if case .change = $0 { true } else { false } }
    journalQueue.removeAll { if case .change = $0 { true } else { false } }
    for case .change(let id, let change, _) in changes {
      changingJobs.remove(id)
      if case .retry = change { endedJobs[id] = journal.jobs[id]?.record }
      handle(.changeRefused(id, change))
    }
  }

  @discardableResult
  func view(
    _ url: String, name: String? = nil, variant: Variant = .standard, isLenient: Bool = false,
    expiry: Expiry = .standard, priority: Int = 0, delay: Duration = .zero,
    timeout: Duration? = nil, keep: Keep = .thumbnail, fetch: FetchOptions = .standard,
    bypassesStore: Bool = false,
    updates: ArrivalUpdates = [], maximumRetryAfter: Duration? = nil, offersFetch: Bool = false
  ) -> ViewerID {
    lastViewer += 1
    let viewer = ViewerID(rawValue: lastViewer)
    let options = RequestOptions(
      ThumbnailRequest(
        variant: variant, isLenient: isLenient, keep: keep, fetch: fetch,
        bypassesStore: bypassesStore),
      expiry: expiry, priority: priority, delay: delay, timeout: timeout)
    waitingViewers.insert(viewer)
    requests[viewer] = (url, options)
    self.updates[viewer] = updates
    let request = GetRequest(
      url: url, viewer: name, options: options, updates: updates,
      maximumRetryAfter: maximumRetryAfter, offersFetch: offersFetch)
    if offersFetch { offeringViewers.insert(viewer) }
    handle(.viewerArrived(viewer, request))
    return viewer
  }

  /// A client uploads a picture.
  ///
  /// - Parameter url: under which it is to be stored; `nil` when it is not.
  @discardableResult
  func upload(
    as url: String? = nil, variant: Variant = .standard, keep: Keep = .thumbnail,
    byteCount: Int = 50_000, timeout: Duration? = nil
  ) -> ViewerID {
    lastViewer += 1
    lastFile += 1
    let viewer = ViewerID(rawValue: lastViewer)
    let options = RequestOptions(variant: variant, timeout: timeout, keep: keep)
    waitingViewers.insert(viewer)
    requests[viewer] = url.map { ($0, options) }
    let picture = UploadedPicture(
      file: MemoryFileID(rawValue: lastFile), byteCount: byteCount, url: url)
    handle(.viewerUploaded(viewer, picture, options))
    return viewer
  }

  /// The client of a viewer brings the picture that it was asked for. Nothing comes of it where it is too late.
  func bringFetched(for viewer: ViewerID, byteCount: Int = 50_000) {
    lastFile += 1
    let file = MemoryFileID(rawValue: lastFile)
    askedViewers.removeAll { $0 == viewer }
    handle(
      .viewerFetched(
        viewer, FetchedBody(file: file, picture: FetchedPicture(byteCount: byteCount))))
  }

  /// The client of a viewer cannot fetch the picture that it was asked for.
  func failToFetch(for viewer: ViewerID) {
    askedViewers.removeAll { $0 == viewer }
    handle(
      .viewerFailedToFetch(
        viewer, Failure(stage: .fetch, code: .connectFailure, detail: "the app cannot connect")))
  }

  // MARK: - Local files

  /// A client reads files for a job.
  func readFiles(of job: JobID) -> ViewerID {
    lastViewer += 1
    let reader = ViewerID(rawValue: lastViewer)
    readers[reader] = job
    handle(.readerArrived(reader, for: job))
    return reader
  }

  /// A reader has read its file.
  func bringFile(from reader: ViewerID, byteCount: Int = 50_000) {
    lastFile += 1
    askedReaders[reader] = nil
    handle(
      .viewerFetched(
        reader,
        FetchedBody(
          file: MemoryFileID(rawValue: lastFile), picture: FetchedPicture(byteCount: byteCount))))
  }

  func failToRead(by reader: ViewerID) {
    askedReaders[reader] = nil
    handle(
      .viewerFailedToFetch(
        reader, Failure(stage: .fetch, code: .unreadableFile, detail: "no such file")))
  }

  func endReading(by reader: ViewerID) {
    readers[reader] = nil
    askedReaders[reader] = nil
    handle(.viewerLeft(reader))
  }

  /// A worker tells how many bytes of the store are pinned.
  ///
  /// - Parameter diskByteCount: the limit of the disk; `nil` if it is above the budget.
  func reportStore(
    pinned byteCount: Int64, of budgetByteCount: Int64, disk diskByteCount: Int64? = nil,
    by pinningJobs: [JobID] = []
  ) {
    let report = StoreReport(
      directory: "/data/store", budgetByteCount: budgetByteCount, diskByteCount: diskByteCount,
      pinnedByteCount: byteCount,
      pinningJobs: pinningJobs)
    handle(.fromWorker(WorkerID(rawValue: 1), .store(report)))
  }

  func leave(_ viewer: ViewerID) {
    waitingViewers.remove(viewer)
    requests[viewer] = nil
    handle(.viewerLeft(viewer))
  }

  func status(_ job: JobID) -> ImageJob? { scheduler.status(of: job) }

  /// The job's counts, ended or not.
  func counts(_ job: JobID) -> JobCounts? {
    endedJobs[job]?.counts ?? scheduler.jobs[job]?.record.counts
  }

  // MARK: - The coordinator

  /// The coordinator is killed and started again: what was durable is all that is left.
  func restart() {
    scheduler = Scheduler(limits: scheduler.limits, seed: 1, at: now)
    workers = [:]
    fleet?.removeAll()
    killed = []
    mail = []
    journalQueue = []
    pageQueue = []
    waitingViewers = []
    offeringViewers = []
    askedViewers = []
    readers = [:]
    askedReaders = [:]
    requests = [:]
    openFiles = []
    missing = [:]
    changingJobs = []
    stopReasons = []
    forgetStarts()
    handle(.began)
    for record in journal.activeJobs { handle(.jobAccepted(record)) }
  }
}

/// Pictures that are not there, as far as the scheduler has heard: it asks for none of them again
/// while that is remembered, but for those who want just that.
extension ClusterModel {
  /// To be told of an event before the scheduler is.
  func noteMissing(_ event: Event) {
    switch event {
    case .fromWorker(let worker, .finished(let results), _):
      for result in results.results where result.outcome.isOfMissingPicture {
        guard let transfer = transfer(of: result.lease, by: worker), transfer.verdict == nil
        else { continue }
        scheduler.fetches.sources[transfer.source].map { missing[$0.key.name.text] = now.instant }
      }
    case .fromWorker(let worker, .transferred(let leases), _):
      for lease in leases {
        guard let transfer = transfer(of: lease, by: worker) else { continue }
        scheduler.fetches.sources[transfer.source].map { missing[$0.key.name.text] = nil }
      }
    case .failuresForgotten(let urls):
      for url in urls { missing[url] = nil }
    default:
      break
    }
  }

  private func transfer(of lease: LeaseID, by worker: WorkerID) -> LeasedTransfer? {
    guard let held = scheduler.fetches.leases[lease], held.worker == worker else { return nil }
    return held.transfer.flatMap { scheduler.fetches.transfers[$0] }
  }

  /// A transfer has begun.
  func checkNotKnownToBeMissing(_ url: String) {
    let time = scheduler.limits.rememberFailures
    guard let since = missing[url], now.instant - since < time else { return }
    let isWanted = scheduler.work.all.contains { item in
      item.key.name.text == url
        && (item.key.request.bypassesStore
          || !item.key.request.fetch.cachePolicy.heedsRememberedFailures
          || item.jobs.contains(where: triesAll))
    }
    if !isWanted { fail("\(url) is fetched although it is known to be missing") }
  }

  private func triesAll(_ job: JobID) -> Bool {
    scheduler.jobs[job]?.record.retries.includesFinal ?? false
  }

  func checkMemories(after event: Event) {
    let isOver = scheduler.fetches.sources.failures.count > RememberedFailures.maximumCount
    if isOver { fail("too many failures are remembered", after: event) }
    for source in scheduler.fetches.sources.all where source.joinable == nil {
      let waiting = scheduler.waitingItems(of: source)
      if !waiting.isEmpty, scheduler.rememberedFailure(of: source, for: waiting) != nil {
        fail("\(source.key.name.text) waits although it is known to be missing", after: event)
      }
    }
  }
}

/// Fetches of clients.
extension ClusterModel {
  /// A client fetches for a source that needs it, and for which no worker does.
  func checkClientFetches(after event: Event) {
    let fetches = scheduler.clientFetches
    for (id, viewer) in fetches.all {
      guard let source = scheduler.fetches.sources[id] else {
        fail("a client fetches for nothing", after: event)
        continue
      }
      let items = scheduler.waitingItems(of: source)
      check(
        items.contains { $0.takesClientFetches && $0.waiters.contains { $0.viewer == viewer } },
        "a client fetches for others alone", event)
      check(askedViewers.contains(viewer), "a client that was not asked fetches", event)
    }
    check(
      Set(fetches.all.values).count == fetches.all.count
        && fetches.all.count <= ClientFetchTable.maximumCount,
      "a client fetches twice, or too many do", event)
    let bodies = scheduler.work.all.compactMap { $0.body?.file }
    check(Set(bodies) == fetches.files, "what a client has fetched is kept for nothing", event)
  }

  /// Whether a client fetches what the items of a source wait for.
  func isFetchedByClient(_ source: Source) -> Bool {
    scheduler.clientFetches.all[source.id] != nil
      && scheduler.waitingItems(of: source).allSatisfy(\.takesClientFetches)
  }
}

/// How long requests wait.
extension ClusterModel {
  /// What waits for a limited time is known to, and no longer waits when it is over. Lines that are fetched or
  /// decoded are among them.
  func checkTimeouts(after event: Event) {
    var timed: Set<Scheduler.TimedWaiter> = []
    for item in scheduler.work.all {
      for waiter in item.waiters {
        check(
          !waiter.isUntimed || waiter.job != nil && !item.isBegun, "a time has not begun", event)
        guard let end = waiter.timesOutAt else { continue }
        check(end > now.instant, "waits for longer than it wants", event)
        timed.insert(Scheduler.TimedWaiter(item: item.id, who: waiter.who))
      }
    }
    check(Set(scheduler.timeouts.keys) == timed, "the end of a wait is forgotten, or stays", event)
  }
}

extension Outcome {
  fileprivate var isOfMissingPicture: Bool {
    guard case .failed(let failure, _) = self else { return false }
    return [404, 410].contains(failure.httpStatus)
  }
}

extension ClusterModel {
  /// Workers know whether viewers wait for what they fetch, and what these are told.
  func checkUpdates(after event: Event) {
    knownUpdates = knownUpdates.filter { scheduler.fetches.leases[$0.key] != nil }
    for item in scheduler.work.all where !item.waiters.isEmpty {
      guard case .transferring(let lease) = item.stage, let known = knownUpdates[lease] else {
        continue
      }
      let viewers = item.waiters.compactMap(\.viewer)
      let wanted = viewers.reduce(into: ArrivalUpdates()) { $0.formUnion(updates[$1] ?? []) }
      check(
        known == (viewers.isEmpty ? nil : wanted), "a worker knows other viewers of \(lease)", event
      )
    }
  }
}
