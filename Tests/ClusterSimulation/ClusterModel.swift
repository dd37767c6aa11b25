import FoundationEssentials
import ImgModel
import ImgScheduler
import ImgWire

/// A scheduler with everything around it that a test decides: a clock that stands still, a journal
/// in memory, and workers that answer when they are told to. After every event the invariants are
/// checked.
final class ClusterModel {
  var scheduler: Scheduler
  var now = Moment(instant: .now, wall: WallTime(rawValue: 1_000_000))

  var journal = JournalModel()
  /// Whether operations and reads wait until ``deliverJournal(_:)``.
  var isJournalHeld = false
  var journalQueue: [JournalOperation] = []
  var pageQueue: [LinePageRequest] = []

  var workers: [WorkerID: WorkerModel] = [:]
  /// Workers with real machines, in place of `workers`; `nil` where a test decides what workers do.
  let fleet: WorkerFleet?
  let credits: Credits
  /// Whether a spawned worker is ready at once.
  var areWorkersReadyAtOnce = true
  var becomingReady: [WorkerID] = []
  /// Answers of workers that have not arrived; see ``say(_:)``.
  var mail: [Event] = []
  /// Whether answers wait in `mail` until a test delivers them.
  var isMailHeld = false
  /// Workers that the scheduler wanted ended and that have not exited.
  var killed: [WorkerID] = []
  var spawnCount = 0
  /// What workers tell of the queues in front of their decoders.
  var decodeQueueCount = 0

  var store = StoreModel()
  /// What viewers that wait have asked for.
  var requests: [ViewerID: (url: String, options: RequestOptions)] = [:]
  /// URLs in the order in which their look-ups and their fetches began.
  var lookupStarts: [String] = []
  var fetchStarts: [String] = []
  /// Leases that began transfers during the event being handled.
  var begunTransfers: [LeaseID] = []
  /// The items before that event.
  var itemsBefore: [WorkID: WorkItem] = [:]
  /// When transfers of each host began since the rate was changed last.
  private var starts: [String: [Instant]] = [:]
  var attachedCount = 0
  /// URLs that were found to be missing, and when.
  var missing: [String: Instant] = [:]
  /// The URLs of uploads, originals and local pictures, as their decodes began.
  var decodeStarts: [String] = []
  /// In place of the URL of one that has none.
  static let uploaded = "uploaded"
  /// The most transfers of one host, and of all, at one time.
  var peakPerHost = 0
  var peak = 0

  var lastViewer: UInt64 = 0
  var lastJob: UInt64 = 0
  var waitingViewers: Set<ViewerID> = []
  /// The viewers whose clients can fetch, and those of them that were asked to, in their order, and have not brought it.
  var offeringViewers: Set<ViewerID> = []
  var askedViewers: [ViewerID] = []
  /// The clients that read files, and for which jobs.
  var readers: [ViewerID: JobID] = [:]
  /// The files that clients are reading.
  var askedReaders: [ViewerID: String] = [:]
  var answers: [ViewerID: Outcome] = [:]
  /// What viewers were told that they wait for.
  var waits: [ViewerID: [Wait]] = [:]
  /// Viewers that were answered with a picture that is not in the store.
  var deliveries: [ViewerID: UncachedThumbnail] = [:]
  /// What viewers are told while their pictures arrive.
  var updates: [ViewerID: ArrivalUpdates] = [:]
  /// How many previews viewers were shown.
  var previewCounts: [ViewerID: Int] = [:]
  /// What workers know of the viewers of leases; `nil` if there is none.
  var knownUpdates: [LeaseID: ArrivalUpdates?] = [:]
  /// The leases whose workers were asked for previews.
  var previewLeases: [LeaseID] = []
  /// The bytes that viewers were told have arrived.
  var progress: [ViewerID: [Int]] = [:]
  /// The leases whose workers were asked for progress.
  var progressLeases: [LeaseID] = []
  /// Memory files that the driver would hold.
  var openFiles: Set<MemoryFileID> = []
  var lastFile: UInt64 = 0
  /// What the log would say of the store.
  var storeErrors: [String] = []
  /// What was said of the network.
  var networkNews: [String] = []
  var hostNews: [String] = []
  /// How often a worker was told to drop its connections.
  var connectionDropCount = 0
  var endedJobs: [JobID: JobRecord] = [:]
  /// Jobs of which a change is on its way into the journal.
  var changingJobs: Set<JobID> = []
  var drainedCount = 0
  var stopReasons: [String] = []
  var storeRecreationCount = 0

  /// Hosts of lines that were asked for, because reading them is slow.
  private var hosts: [String: String?] = [:]

  /// Of what the scheduler has wanted done; `nil` when that is not asked for.
  var trace: TraceDigest?

  /// Told everything that goes against the rules.
  let report: (String) -> Void
  /// Off where the state is so large that checking all of it takes too long.
  var areInvariantsChecked = true

  init(
    workers: Int = 1, transfers: Int = 64, perHost: Int = 8, ratePerMinute: Int = 0,
    attempts: Int = 1, backoff: Duration = Limits().backoff,
    rememberFailures: Duration = .seconds(600), offlineTimeout: Duration = Limits().offlineTimeout,
    credits: Credits = Credits(lookups: 256, leases: 128, decodeQueueTarget: 8),
    proxies: ProxySettings = .none, fleet: WorkerFleet? = nil,
    report: @escaping (String) -> Void
  ) {
    var limits = Limits()
    limits.workers = workers
    limits.transfers = transfers
    limits.transfersPerHost = perHost
    limits.hostRatePerMinute = ratePerMinute
    limits.attempts = attempts
    limits.backoff = backoff
    limits.rememberFailures = rememberFailures
    limits.offlineTimeout = offlineTimeout
    scheduler = Scheduler(limits: limits, seed: 1, proxies: proxies, at: now)
    self.credits = credits
    self.fleet = fleet
    self.report = report
  }

  var isIdle: Bool { scheduler.isIdle }

  // MARK: - Events in

  func handle(_ event: Event) {
    process(event)
    while true {
      if !becomingReady.isEmpty {
        ready(becomingReady.removeFirst())
      } else if !isMailHeld, !mail.isEmpty {
        process(mail.removeFirst())
      } else if !isJournalHeld, !journalQueue.isEmpty || !pageQueue.isEmpty {
        deliverJournal(1)
      } else {
        return
      }
    }
  }

  /// Makes groups of operations durable and answers reads, each in their order.
  ///
  /// - Parameter count: operations of a group; also how many groups and pages.
  func deliverJournal(_ count: Int = .max) {
    var remaining = count
    while remaining > 0, !journalQueue.isEmpty || !pageQueue.isEmpty {
      remaining -= 1
      let group = Array(journalQueue.prefix(count))
      journalQueue.removeFirst(group.count)
      if !group.isEmpty { deliver(group) }
      if !pageQueue.isEmpty {
        let request = pageQueue.removeFirst()
        process(.linesRead(request, journal.page(request)))
      }
    }
  }

  private func deliver(_ group: [JournalOperation]) {
    for operation in group { journal.apply(operation) }
    journal.takeFaults().forEach { fail($0) }
    process(.journaled(group))
    for case .change(let id, let change, _) in group {
      changingJobs.remove(id)
      if case .retry = change, let record = journal.jobs[id]?.record {
        process(.jobAccepted(record))
      }
    }
  }

  /// A worker says something, which arrives now or when the mail is delivered.
  func say(_ event: Event) {
    mail.append(event)
    if !isMailHeld { handle(mail.removeFirst()) }
  }

  func changeLimits(_ change: LimitChange) {
    forgetStarts()
    handle(.limitsChanged(change))
  }

  /// From here on the rate is measured afresh: no coordinator remembers what another has begun.
  func forgetStarts() {
    starts = [:]
  }

  func fail(_ message: String, after event: Event? = nil) {
    report(message + (event.map { "; after \($0)" } ?? ""))
  }

  func process(_ event: Event) {
    begunTransfers = []
    switch event {
    case .fromWorker(_, _, let file?): openFiles.insert(file)
    case .viewerUploaded(_, let picture, _): openFiles.insert(picture.file)
    case .viewerFetched(_, let body): openFiles.insert(body.file)
    default: break
    }
    if areInvariantsChecked {
      itemsBefore = Dictionary(uniqueKeysWithValues: scheduler.work.all.map { ($0.id, $0) })
    }
    noteMissing(event)
    let effects = scheduler.handle(event, at: now)
    trace?.add(effects)
    for effect in effects { perform(effect) }
    if areInvariantsChecked { checkInvariants(after: event) }
  }

  // MARK: - Effects out

  private func perform(_ effect: Effect) {
    switch effect {
    case .send(let message, let worker): send(message, to: worker)
    case .pass(let file, let message, let worker):
      if !openFiles.contains(file) { fail("\(file) is not open") }
      if !message.announcesFile { fail("\(message) has no file") }
      send(message, to: worker)
    case .spawn(let worker, let number):
      spawnCount += 1
      spawn(worker, number: number)
    case .kill(let worker):
      if killed.contains(worker) || !hasProcess(worker) { fail("\(worker) killed twice") }
      killed.append(worker)
    case .readLines(let request): pageQueue.append(request)
    case .journal(let operation):
      checkExpiry(of: operation)
      journalQueue.append(operation)
    case .answer(let viewer, let outcome, _):
      if let (url, options) = requests.removeValue(forKey: viewer), case .done = outcome {
        checkExpiry(of: url, options)
      }
      if waitingViewers.remove(viewer) == nil { fail("\(viewer) answered without waiting") }
      if outcome.isRefusal, outcome.failedHTTPStatus == 404 {
        fail("\(viewer) is told the status of another picture")
      }
      answers[viewer] = outcome
    case .deliver(let file, let made, let bytesFetched, let viewer):
      if !openFiles.contains(file) { fail("\(file) is not open") }
      if waitingViewers.remove(viewer) == nil { fail("\(viewer) answered without waiting") }
      answers[viewer] = .done(made.thumbnail, fromCache: false, bytesFetched: bytesFetched)
      deliveries[viewer] = made
    case .show(let file, _, let viewer):
      if !openFiles.contains(file) { fail("\(file) is not open") }
      if !waitingViewers.contains(viewer) { fail("\(viewer) is shown a preview after its answer") }
      if updates[viewer]?.contains(.previews) != true { fail("\(viewer) wants no previews") }
      previewCounts[viewer, default: 0] += 1
    case .reportProgress(let news, let viewer):
      if !waitingViewers.contains(viewer) { fail("\(viewer) is told progress after its answer") }
      if updates[viewer]?.contains(.progress) != true { fail("\(viewer) wants no progress") }
      if news.receivedByteCount <= progress[viewer]?.last ?? 0 {
        fail("\(viewer) is told twice that \(news.receivedByteCount) bytes have arrived")
      }
      progress[viewer, default: []].append(news.receivedByteCount)
    case .askToFetch(let viewer, _):
      if !waitingViewers.contains(viewer) { fail("\(viewer) is asked to fetch after its answer") }
      if !offeringViewers.contains(viewer) { fail("\(viewer) did not offer to fetch") }
      askedViewers.append(viewer)
    case .askToRead(let reader, let file, _):
      if readers[reader] == nil { fail("\(reader) reads no files") }
      askedReaders[reader] = file.url
    case .readingEnded(let reader):
      if readers.removeValue(forKey: reader) == nil { fail("\(reader) reads no files") }
    case .release(let file):
      if openFiles.remove(file) == nil { fail("\(file) released twice") }
    case .storeErrorBegan: storeErrors.append("began")
    case .storeErrorEnded(let status): storeErrors.append("ended \(status.servedCount)")
    case .networkChanged(let news): networkNews.append(news)
    case .hostChanged(let news): hostNews.append(news)
    case .recreateStore:
      store = StoreModel()
      fleet?.recreateStore()
      storeRecreationCount += 1
    case .jobEnded(let record):
      if endedJobs.updateValue(record, forKey: record.id) != nil { fail("a job ended twice") }
    case .drained: drainedCount += 1
    case .noWorkers(let reason): stopReasons.append(reason)
    }
  }

  // MARK: - Rates and limits

  /// A model of a worker has begun a request at a host.
  func checkLimits(of host: String) {
    let underWay = workers.values.flatMap(\.receiving)
    let count = underWay.count { $0.host == host }
    peakPerHost = max(peakPerHost, count)
    peak = max(peak, underWay.count)
    if count > scheduler.limits.transfersPerHost { fail("over the limit of \(host)") }
    if underWay.count - scheduler.fetches.queue.asideCount > scheduler.limits.transfers {
      fail("over the cluster's limit")
    }
  }

  /// However it was worked out when to begin: a burst and one more never begin within an interval.
  func checkRate(of host: String) {
    guard let rate = scheduler.fetches.queue.rate else { return }
    starts[host, default: []].append(now.instant)
    let recent = starts[host, default: []].suffix(rate.burst + 1)
    if recent.count > rate.burst, let first = recent.first, now.instant - first < rate.interval {
      fail("\(host) is asked more often than its rate allows")
    }
  }

  /// The host of a line; `nil` of one that is no URL.
  func host(of line: String) -> String? {
    if let known = hosts[line] { return known }
    let host = (try? ImageURL(line: line))?.host
    hosts[line] = .some(host)
    return host
  }
}

/// A digest over everything that the scheduler wants done, in its order. Two builds whose digests
/// are equal for the same seeds have decided alike, so a change of structure shows itself to be one
/// of behaviour. It depends on the JSON of messages and values, and on no name in the scheduler.
struct TraceDigest {
  /// FNV-1a.
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
  private let encoder = JSONEncoder()

  init() {
    encoder.outputFormatting = .sortedKeys
  }

  mutating func add(_ effects: [Effect]) {
    for effect in effects { add(effect) }
    add("end of event")
  }

  private mutating func add(_ effect: Effect) {
    switch effect {
    case .send(let message, let worker):
      add("send")
      add(message)
      add([worker])
    case .pass(let file, let message, let worker):
      add("pass", file.rawValue)
      add(message)
      add([worker])
    case .spawn(let worker, let number): add("spawn", worker, number)
    case .kill(let worker): add("kill", worker)
    case .readLines(let request):
      add("read", request.job, request.order, request.positions, request.limit)
    case .journal(let operation): add(operation)
    case .answer(let viewer, let outcome, let timings):
      add("answer", viewer.rawValue, outcome, timings)
    case .deliver(let file, let made, let byteCount, let viewer):
      add("deliver", file.rawValue, made, byteCount, viewer.rawValue)
    case .show(let file, let thumbnail, let viewer):
      add("show", file.rawValue, thumbnail, viewer.rawValue)
    case .reportProgress(let progress, let viewer): add("progress", progress, viewer.rawValue)
    case .askToFetch(let viewer, let limit):
      add("ask to fetch", viewer.rawValue, limit.milliseconds)
    case .askToRead(let reader, let file, let limit):
      add("ask to read", reader.rawValue, file, limit.milliseconds)
    case .readingEnded(let reader): add("reading ended", reader.rawValue)
    case .release(let file): add("release", file.rawValue)
    case .jobEnded(let record): add("job ended", record)
    case .storeErrorBegan(let status): add("store error began", status)
    case .storeErrorEnded(let status): add("store error ended", status)
    case .networkChanged(let news): add("network", news)
    case .hostChanged(let news): add("host", news)
    case .recreateStore(let reason): add("recreate", reason)
    case .drained: add("drained")
    case .noWorkers(let reason): add("give up", reason)
    }
  }

  private mutating func add(_ operation: JournalOperation) {
    switch operation {
    case .createJob(let record): add("create", record)
    case .appendURLs(let job, let lines): add("append", job, lines.texts)
    case .seal(let job): add("seal", job)
    case .discard(let job): add("discard", job)
    case .start(let job, let moment): add("start", job, moment.rawValue)
    case .record(let job, let index, let outcome): add("record", job, index, outcome)
    case .finish(let job, let moment): add("finish", job, moment.rawValue)
    case .change(let job, let change, let moment): add("change", job, change, moment.rawValue)
    }
  }

  private mutating func add(_ kind: String, _ values: (any Encodable)...) {
    add(Array(kind.utf8))
    add(values)
  }

  /// As `JSONEncoder` writes it: with an escape before each slash.
  private mutating func add(_ message: CoordinatorMessage) {
    guard let frame = try? WireCoding.frame(message) else {
      preconditionFailure("\(message) does not fit into a frame")
    }
    add(
      frame.dropFirst(Frame.headerByteCount).flatMap { byte in
        byte == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), byte] : [byte]
      })
  }

  private mutating func add(_ values: [any Encodable]) {
    for value in values {
      guard let json = try? encoder.encode(value) else {
        preconditionFailure("\(value) has no JSON")
      }
      add(Array(json))
    }
  }

  private mutating func add(_ bytes: [UInt8]) {
    for byte in bytes + [0] {
      value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
  }
}

/// Expiry.
extension ClusterModel {
  /// A thumbnail is kept for as long as the request asked, unless it was evicted.
  func checkExpiry(of url: String, _ options: RequestOptions) {
    // The store of real machines knows no expiry.
    guard fleet == nil else { return }
    let asked = options.expiry.retentionOfStored(
      defaultExpiry: RequestOptions.expiryRange.lowerBound)
    let key = StoreModel.Key(url: url, variant: options.variant, part: options.keep.part)
    let isEvicted = store.evicted.contains(key)
    let kept = [
      options.keep.includesResult && !isEvicted ? store.thumbnails[key] : nil,
      options.keep.includesOriginal ? store.originals[url] : nil,
    ]
    for kept in kept.compactMap(\.self) where !kept.covers(asked) {
      fail("\(url) is kept for \(kept), not \(asked)")
    }
  }

  /// The same for a line of a list.
  func checkExpiry(of operation: JournalOperation) {
    guard case .record(let id, let index, .done) = operation, let job = journal.jobs[id],
      let line = job.line(index)
    else { return }
    checkExpiry(of: line, job.record.options)
    if job.record.holdsPins { checkPin(of: line, by: job.record) }
  }

  /// What a job that pins its thumbnails counts as done is pinned.
  private func checkPin(of line: String, by job: JobRecord) {
    guard fleet == nil else { return }
    let key = StoreModel.Key(url: line, variant: job.options.variant, part: job.options.keep.part)
    guard job.options.keep.includesResult, !store.evicted.contains(key),
      let retention = store.thumbnails[key]
    else { return }
    if !retention.pins.contains(job.id) { fail("\(line) is done and not pinned by \(job.id)") }
  }
}
