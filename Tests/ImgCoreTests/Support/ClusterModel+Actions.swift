import ImgWire
import Testing

@testable import ImgCore

/// What a test lets happen.
extension ClusterModel {
  // MARK: - Clients

  @discardableResult
  func submit(
    _ lines: [String], variant: Variant = .standard, expireAfter: Int64? = nil, priority: Int = 0
  ) -> JobID {
    submit(count: lines.count, variant: variant, expireAfter: expireAfter, priority: priority) {
      lines[$0]
    }
  }

  @discardableResult
  func submit(
    count: Int, variant: Variant = .standard, expireAfter: Int64? = nil, priority: Int = 0,
    line: @escaping (Int) -> String
  ) -> JobID {
    lastJob += 1
    let record = JobRecord(
      id: JobID(rawValue: lastJob),
      options: RequestOptions(
        variant: variant, expireAfterMilliseconds: expireAfter, priority: priority),
      state: .queued, counts: JobCounts(total: count), submittedAt: now.wall)
    journal.add(record, line: line)
    handle(.jobAccepted(record))
    return record.id
  }

  @discardableResult
  func view(
    _ url: String, variant: Variant = .standard, expireAfter: Int64? = nil
  ) -> ViewerID {
    lastViewer += 1
    let viewer = ViewerID(rawValue: lastViewer)
    waitingViewers.insert(viewer)
    handle(
      .viewerArrived(
        viewer, url: url,
        RequestOptions(variant: variant, expireAfterMilliseconds: expireAfter)))
    return viewer
  }

  func leave(_ viewer: ViewerID) {
    waitingViewers.remove(viewer)
    handle(.viewerLeft(viewer))
  }

  func status(_ job: JobID) -> JobStatus? { scheduler.status(of: job) }

  /// The job's counts, ended or not.
  func counts(_ job: JobID) -> JobCounts? {
    endedJobs[job]?.counts ?? scheduler.jobs[job]?.record.counts
  }

  // MARK: - Workers at work

  /// URLs being fetched, in the order of their leases.
  var fetching: [String] {
    workers.values.flatMap(\.fetches).sorted { $0.lease < $1.lease }.map(\.url)
  }

  var lookupCount: Int { workers.values.flatMap(\.lookups).flatMap(\.items).count }

  /// Fetches that the workers were told to abort.
  var cancelledLeases: [LeaseID] { workers.values.flatMap(\.cancelled) }

  /// Answers every look-up, and those which that leads to, from the store.
  func answerLookups() {
    while let worker = workers.values.filter({ !$0.lookups.isEmpty }).map(\.id).min() {
      answerLookup(of: worker)
    }
  }

  /// Answers the worker's oldest look-up.
  func answerLookup(of worker: WorkerID) {
    guard let batch = workers[worker]?.lookups.first else { return }
    workers[worker]?.lookups.removeFirst()
    let hits = batch.items.filter { store[$0.url] != nil }
      .map { LookupResults.Hit(lease: $0.lease, thumbnail: .sample) }
    let misses = batch.items.filter { store[$0.url] == nil }.map(\.lease)
    handle(.workerLookedUp(worker, LookupResults(hits: hits, misses: misses)))
  }

  /// The worker and lease that fetch `url`; the newest when an aborted one still runs.
  func fetch(of url: String) -> (worker: WorkerID, fetch: WorkerModel.Fetch)? {
    workers.values
      .flatMap { worker in worker.fetches.map { (worker: worker.id, fetch: $0) } }
      .filter { $0.fetch.url == url }.max { $0.fetch.lease < $1.fetch.lease }
  }

  /// The last byte of `url` is in.
  func transferred(_ url: String) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    handle(.workerTransferred(worker, [fetch.lease]))
  }

  /// The thumbnail is in the store, whether or not the worker has said so.
  func store(_ url: String) {
    guard let (_, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    store[url] = fetch.expireAfterMilliseconds ?? -1
  }

  /// The fetch of `url` ends; a success is stored first.
  func finish(_ url: String, _ outcome: Outcome = .fetchedSample) {
    guard let (worker, fetch) = fetch(of: url) else { return fail("\(url) is not fetched") }
    if case .done = outcome { store(url) }
    workers[worker]?.fetches.removeAll { $0.lease == fetch.lease }
    handle(
      .workerFinished(worker, [FetchResults.Result(lease: fetch.lease, outcome: outcome)]))
  }

  /// Everything outstanding succeeds until nothing is.
  func settle() {
    repeat {
      answerLookups()
      if let url = fetching.first { finish(url) }
    } while lookupCount > 0 || !fetching.isEmpty
  }

  // MARK: - Processes

  /// - Parameter decoding: the URL whose lease the board of the dead worker shows.
  func exit(_ worker: WorkerID, _ end: WorkerEnd, decoding url: String? = nil) {
    let lease = url.flatMap { url in workers[worker]?.fetches.first { $0.url == url }?.lease }
    workers[worker] = nil
    killed.removeAll { $0 == worker }
    handle(.workerExited(worker, end, decoding: lease))
  }

  /// The worker that fetches `url` dies while it decodes it.
  func crash(decoding url: String, _ end: WorkerEnd = .crashed("SIGSEGV")) {
    guard let (worker, _) = fetch(of: url) else { return fail("\(url) is not fetched") }
    exit(worker, end, decoding: url)
  }

  /// Time passes, and the scheduler hears of it when it wanted to.
  func advance(by duration: Duration) {
    let wall = now.wall.advanced(byMilliseconds: duration.components.seconds * 1_000)
    now = Moment(instant: now.instant + duration, wall: wall)
    if let deadline = scheduler.deadline, deadline <= now.instant { handle(.timePassed) }
  }
}
