import ImgModel
import ImgScheduler

/// What clients may do.
extension ClusterModel {
  @discardableResult
  func submit(
    _ lines: [String], variant: Variant = .standard, expiry: Expiry = .standard,
    priority: Int = 0, order: LineOrder = .firstInFirstOut, delay: Duration = .zero,
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, pinPolicy: PinPolicy = .none
  ) -> JobID {
    submit(
      count: lines.count, variant: variant, expiry: expiry, priority: priority,
      order: order, delay: delay, keep: keep, fetch: fetch, pinPolicy: pinPolicy
    ) { lines[$0] }
  }

  @discardableResult
  func submit(
    count: Int, variant: Variant = .standard, expiry: Expiry = .standard, priority: Int = 0,
    order: LineOrder = .firstInFirstOut, delay: Duration = .zero, keep: Keep = .thumbnail,
    fetch: FetchOptions = .standard, pinPolicy: PinPolicy = .none, lacksHeaders: Bool = false,
    line: @escaping (Int) -> String?
  ) -> JobID {
    lastJob += 1
    var record = JobRecord(
      id: JobID(rawValue: lastJob),
      options: RequestOptions(
        variant: variant, expiry: expiry, priority: priority,
        delay: delay, keep: keep, fetch: fetch),
      order: order, pinPolicy: pinPolicy, state: .queued, counts: JobCounts(total: count),
      submittedAt: now.wall)
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
  func change(_ id: JobID, _ change: JobChange) -> Bool {
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
    keep: Keep = .thumbnail, fetch: FetchOptions = .standard, bypassesStore: Bool = false,
    updates: ArrivalUpdates = [], maximumRetryAfter: Duration? = nil
  ) -> ViewerID {
    lastViewer += 1
    let viewer = ViewerID(rawValue: lastViewer)
    let options = RequestOptions(
      variant: variant, isLenient: isLenient, expiry: expiry, priority: priority, delay: delay,
      keep: keep, fetch: fetch)
    waitingViewers.insert(viewer)
    requests[viewer] = (url, options)
    self.updates[viewer] = updates
    var request = ViewerRequest(url: url, options: options)
    request.name = name
    request.bypassesStore = bypassesStore
    request.updates = updates
    request.maximumRetryAfter = maximumRetryAfter
    handle(.viewerArrived(viewer, request))
    return viewer
  }

  /// A client uploads a picture.
  ///
  /// - Parameter url: under which it is to be stored; `nil` when it is not.
  @discardableResult
  func upload(
    as url: String? = nil, variant: Variant = .standard, keep: Keep = .thumbnail,
    byteCount: Int = 50_000
  ) -> ViewerID {
    lastViewer += 1
    lastFile += 1
    let viewer = ViewerID(rawValue: lastViewer)
    let options = RequestOptions(variant: variant, keep: keep)
    waitingViewers.insert(viewer)
    requests[viewer] = url.map { ($0, options) }
    let picture = UploadedPicture(
      file: MemoryFileID(rawValue: lastFile), byteCount: byteCount, url: url)
    handle(.viewerUploaded(viewer, picture, options))
    return viewer
  }

  /// A worker tells how many bytes of the store are pinned.
  func reportStore(pinned byteCount: Int64, of budgetByteCount: Int64) {
    handle(
      .storeReported(
        StoreReport(
          budgetByteCount: budgetByteCount, diskByteCount: nil, pinnedByteCount: byteCount,
          pinningJobs: [])))
  }

  func leave(_ viewer: ViewerID) {
    waitingViewers.remove(viewer)
    requests[viewer] = nil
    handle(.viewerLeft(viewer))
  }

  func status(_ job: JobID) -> JobStatus? { scheduler.status(of: job) }

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
