import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem

/// The journal as the loop uses it: read at once, written by its own thread.
final class JobJournal {
  /// What is durable, for reading.
  let stored: Journal
  /// Why outcomes cannot be written; `nil` while they can.
  private(set) var error: String?
  private let thread: ServiceThread<JournalOperation>
  private let answers: Mailbox<JournalAnswer>
  private var nextJob: JobID
  private var outcomes = GatheredOutcomes()
  private let directory: String
  private let log: Log

  /// Operations that may wait: more than the scheduler leaves unrecorded, and the parts of lists and
  /// the changes of jobs of all clients together.
  private static let capacity = 1 << 21

  init(_ journal: Journal, in directory: DataDirectory, poller: Poller, log: Log) throws {
    stored = journal
    self.log = log
    self.directory = directory.path
    nextJob = try journal.nextJobID()
    let answers = try Mailbox<JournalAnswer>()
    self.answers = answers
    let place = JournalPlace(journal: journal, directory: directory)
    thread = try ServiceThread(name: "journal", capacity: Self.capacity) { queue in
      JournalWriter.serve(queue, writingTo: place, answers)
    }
    try poller.register(answers.descriptor, .read, token: Token.journal.rawValue)
  }

  /// A number that no job has.
  func takeJobID() -> JobID {
    defer { nextJob = JobID(rawValue: nextJob.rawValue + 1) }
    return nextJob
  }

  /// Has an operation written. Outcomes wait for further ones, see ``GatheredOutcomes``.
  func submit(_ operation: JournalOperation) {
    outcomes.add(operation, at: .now)
    if outcomes.isComplete { writeOutcomes() }
  }

  /// When ``writeOutcomes()`` has to be called; `nil` while no outcome waits.
  var deadline: Instant? { outcomes.deadline }

  /// Has the outcomes written that wait for further ones. After ``finish()`` they are lost, as by a crash.
  func writeOutcomes() {
    let isQueued = thread.queue.push(contentsOf: outcomes.take())
    precondition(
      isQueued || thread.queue.isClosed, "the journal's queue holds all that may be unrecorded")
  }

  /// What became of operations since the last call. ``error`` is as of the last of them.
  func takeAnswers() -> [JournalAnswer] {
    let taken = answers.takeAll()
    for answer in taken {
      switch answer {
      case .applied:
        error = nil
      case .refused(_, let reason):
        log.note("what clients asked for cannot be written: \(reason)")
      case .restored(let sentence):
        error = nil
        log.note(sentence)
      case .stuck(let reason):
        if error == nil { log.note("outcomes cannot be written: \(reason)") }
        error = "outcomes cannot be written to \(directory): \(reason)"
      case .lost:
        break
      }
    }
    return taken
  }

  /// Writes what is queued, as far as the disk takes it, then ends the thread.
  func finish() {
    writeOutcomes()
    thread.join()
  }
}

/// Operations on their way to the thread that writes the journal.
///
/// Each transaction costs several writes and flushes of the disk, however much it writes. Nothing
/// waits for the outcome of a line but the end of its job, so outcomes wait a little for further ones.
/// After a crash those lines are looked up again: stored pictures are hits, and failed lines are fetched
/// again.
struct GatheredOutcomes {
  private var operations: [JournalOperation] = []
  /// When the oldest of them has waited long enough; `nil` while there are none.
  private(set) var deadline: Instant?
  /// Whether they are to be written at once.
  private(set) var isComplete = false

  /// Shorter than the time between two updates of a progress display.
  static let longestWait = Duration.milliseconds(50)
  /// A list of hits has so many outcomes before the time is over. A job may have eight times as many
  /// lines in hand, so it does not wait for these.
  static let maximumCount = 512

  /// Adds an operation. All but outcomes and starts have a client or a job that waits for them.
  mutating func add(_ operation: JournalOperation, at now: @autoclosure () -> Instant) {
    if operations.isEmpty { deadline = now() + Self.longestWait }
    operations.append(operation)
    switch operation {
    case .record, .start: isComplete = isComplete || operations.count >= Self.maximumCount
    case .createJob, .appendURLs, .seal, .discard, .finish, .change: isComplete = true
    }
  }

  /// Takes all operations, in their order.
  mutating func take() -> [JournalOperation] {
    defer { self = GatheredOutcomes() }
    return operations
  }
}

/// What became of operations that were submitted to the journal, or of the journal itself.
enum JournalAnswer: Hashable, Sendable {
  /// Durable, in this order.
  case applied([JournalOperation])
  /// Not written and dropped: parts of submissions, or changes of jobs. Their clients are refused.
  case refused([JournalOperation], reason: String)
  /// Outcomes cannot be written now. They are kept and tried again every second.
  case stuck(reason: String)
  /// The journal's files were removed, and were made again with all jobs.
  case restored(sentence: String)
  /// The journal's files were removed, and cannot be made again: its jobs are lost. Nothing is written any
  /// more.
  case lost(reason: String)
}

/// The one thread that writes the journal.
///
/// A durable commit waits for the disk, so the loop must not make it. What arrives during one commit
/// makes up the next, so groups grow exactly when the disk is slow.
enum JournalWriter {
  private static let groupMaximum = 8_192
  private static let retryPause = Duration.seconds(1)
  /// How long the removal of the journal may go unnoticed while nothing is written.
  private static let longestPause = Duration.seconds(2)

  /// Writes what the queue brings, as far as the disk takes it, until the queue is closed and empty.
  ///
  /// - Parameter answers: receives every operation once it is durable or dropped.
  static func serve(
    _ queue: BlockingQueue<JournalOperation>, writingTo place: JournalPlace,
    _ answers: Mailbox<JournalAnswer>
  ) {
    let journal = place.journal
    var group = JournalGroup()
    // Before other files take it. What the disk refuses now is reserved before a later write.
    try? journal.reserveRoom()
    // An earlier coordinator may have left free pages.
    var mayShrink = true
    while let operations = queue.take(upTo: groupMaximum, until: .now + longestPause) {
      group.add(operations)
      guard write(&group, to: place, from: queue, answers) else { return }
      if operations.contains(where: \.removesJob) { mayShrink = true }
      // Each group removes a part of what is left of removed jobs; quiet times remove the rest.
      // If it fails because the disk is full, the next group tries again.
      while isQuiet(queue), (try? journal.removeLeftovers()) == true { mayShrink = true }
      if mayShrink, isQuiet(queue) {
        mayShrink = false
        // If it fails because the disk is full, the next removal tries again.
        if (try? journal.isMostlyFree()) == true { try? journal.compact() }
      }
    }
    // A removal in the last pause is reported as well.
    _ = write(&group, to: place, from: queue, answers)
  }

  private static func isQuiet(_ queue: BlockingQueue<JournalOperation>) -> Bool {
    queue.count == 0 && !queue.isClosed
  }

  /// Writes the group, and what arrives meanwhile if the disk does not take it at once.
  ///
  /// - Returns: whether there may be more to write.
  private static func write(
    _ group: inout JournalGroup, to place: JournalPlace,
    from queue: BlockingQueue<JournalOperation>, _ answers: Mailbox<JournalAnswer>
  ) -> Bool {
    while let answer = group.write(to: place) {
      answers.post(answer)
      switch answer {
      case .applied, .refused, .restored:
        continue
      case .lost:
        return false
      case .stuck:
        // A coordinator that ends does not wait for the disk. What is lost is looked up again at the
        // next start.
        if queue.isClosed { return false }
        ThisProcess.pause(for: retryPause)
        if queue.count > 0 { group.add(queue.take(upTo: groupMaximum) ?? []) }
      }
    }
    return true
  }
}

/// The operations that the next transaction writes. It decides which of them are dropped when the
/// disk does not take them: a submission first, then a change, never an outcome.
struct JournalGroup {
  private var pending: [JournalOperation] = []
  /// Operations that were written. What was written into removed files is not durable before these are
  /// restored, so they are reported after another look at them.
  private var applied: [JournalOperation] = []
  /// Submissions with a refused part. Their later parts are dropped up to their discard, so that no
  /// job lacks its middle.
  private var refused: Set<JobID> = []

  mutating func add(_ operations: [JournalOperation]) {
    for operation in operations {
      if case .discard(let job) = operation { refused.remove(job) }
      if operation.isPartOfSubmission, refused.contains(operation.job) { continue }
      pending.append(operation)
    }
  }

  /// Writes everything as one transaction.
  ///
  /// - Returns: what became of it, to be called again; `nil` when there was nothing left to do.
  mutating func write(to place: JournalPlace) -> JournalAnswer? {
    if let answer = place.restore() { return answer }
    guard applied.isEmpty else {
      defer { applied = [] }
      return .applied(applied)
    }
    guard !pending.isEmpty else { return nil }
    do throws(StoreError) {
      try reserveRoom(in: place.journal)
      try place.journal.apply(pending)
    } catch {
      return refuseSubmissions(because: error.description)
        ?? applyFirstChange(to: place.journal)
        ?? .stuck(reason: error.description)
    }
    applied = pending
    pending = []
    return write(to: place)
  }

  /// New lists must not use up the room that is reserved for the jobs that were accepted.
  private func reserveRoom(in journal: Journal) throws(StoreError) {
    let isAccepting = pending.contains(where: \.isPartOfSubmission)
    let listByteCount = isAccepting ? pending.reduce(0) { $0 + $1.listByteCount } : 0
    do throws(StoreError) {
      try journal.reserveRoom(besideLists: listByteCount)
    } catch {
      if isAccepting { throw error }
    }
  }

  /// Writes the first change by itself, before the outcomes that cannot be written. It may need less
  /// room than they do, or belong to a job that is not damaged.
  ///
  /// - Returns: what became of it; `nil` when there is no change.
  private mutating func applyFirstChange(to journal: Journal) -> JournalAnswer? {
    guard let index = pending.firstIndex(where: \.isChange) else { return nil }
    let change = pending.remove(at: index)
    do throws(StoreError) {
      try journal.apply([change])
    } catch {
      return .refused([change], reason: error.description)
    }
    guard case .change(let job, .cancel, _) = change else { return .applied([change]) }
    // Operations of the job from before the cancel, written after it, change nothing any more.
    let late = pending.filter { $0.job == job }
    pending.removeAll { $0.job == job }
    return .applied([change] + late)
  }

  /// - Returns: `nil` when there are none.
  private mutating func refuseSubmissions(because reason: String) -> JournalAnswer? {
    let submissions = pending.filter(\.isPartOfSubmission)
    guard !submissions.isEmpty else { return nil }
    refused.formUnion(submissions.map(\.job))
    pending.removeAll(where: \.isPartOfSubmission)
    return .refused(submissions, reason: reason)
  }
}

extension JournalOperation {
  /// Whether it belongs to a list that is not accepted yet.
  var isPartOfSubmission: Bool {
    switch self {
    case .createJob, .appendURLs, .seal: true
    case .discard, .start, .record, .finish, .change: false
    }
  }

  /// Whether it frees the room of a job.
  var removesJob: Bool {
    switch self {
    case .discard, .change(_, .remove, at: _): true
    default: false
    }
  }

  /// Whether a job that has pinned thumbnails until now may hold them no longer.
  var endsPins: Bool {
    switch self {
    case .change(_, .unpin, at: _), .change(_, .remove, at: _): true
    default: false
    }
  }

  /// The bytes of a list's lines. Everything else is small.
  fileprivate var listByteCount: Int {
    guard case .appendURLs(_, let lines) = self else { return 0 }
    return lines.texts.reduce(0) { $0 + $1.utf8.count }
  }

  var isChange: Bool {
    if case .change = self { true } else { false }
  }

  var job: JobID {
    switch self {
    case .createJob(let record): record.id
    case .appendURLs(let id, _), .seal(let id), .discard(let id), .start(let id, _),
      .record(let id, _, _), .finish(let id, _), .change(let id, _, _):
      id
    }
  }
}

/// Where the next coordinator looks for the journal. A person may remove the whole data directory, as
/// that of any cache, while a coordinator runs.
struct JournalPlace: Sendable {
  let journal: Journal
  let directory: DataDirectory

  /// Makes again what was removed of the directory and the journal, with all jobs. Costs five system calls if
  /// nothing was.
  ///
  /// - Returns: what became of it; `nil` while all is in its place.
  func restore() -> JournalAnswer? {
    do throws(DataDirectoryError) {
      let sentence = try directory.restore()
      guard journal.isDetached else { return sentence.map { .restored(sentence: $0) } }
    } catch {
      let reason = "\(removal): \(error)"
      return error.isLackOfSpace ? .stuck(reason: reason) : .lost(reason: reason)
    }
    do throws(StoreError) {
      try journal.restore()
      return .restored(
        sentence: "the journal in \(directory.path) had been removed; it is there again, with all "
          + "jobs")
    } catch {
      let reason = "\(removal): \(error)"
      return error.reason == .full ? .stuck(reason: reason) : .lost(reason: reason)
    }
  }

  private var removal: String {
    "the data directory \(directory.path), or its journal, was removed or replaced while the coordinator ran, "
      + "and cannot be made again"
  }
}

/// The pages of lists that the scheduler asked for, read from the journal in their order.
final class LineReader {
  private let scheduler: SchedulerDriver
  private let journal: JobJournal
  private let lifecycle: Lifecycle
  private let log: Log
  private var requests: [LinePageRequest] = []

  init(scheduler: SchedulerDriver, journal: JobJournal, lifecycle: Lifecycle, log: Log) {
    self.scheduler = scheduler
    self.journal = journal
    self.lifecycle = lifecycle
    self.log = log
  }

  var isIdle: Bool { requests.isEmpty }

  func add(_ request: LinePageRequest) {
    requests.append(request)
  }

  /// Reads one page, so that the loop serves everything else meanwhile, however much there is to
  /// read.
  func readNext() {
    guard !requests.isEmpty else { return }
    let request = requests.removeFirst()
    guard scheduler.state.awaits(request) else { return }
    do throws(StoreError) {
      let page = try journal.stored.urls(
        of: request.job, positions: request.positions, order: request.order,
        limit: request.limit)
      let lines = page.entries.map { JobLine(index: $0.index, text: $0.url) }
      scheduler.handle(.linesRead(request, LinePage(lines: lines, next: page.next)))
    } catch {
      // Without its lists the coordinator cannot work, and the job would never end.
      log.note("job \(request.job) cannot be read from the journal: \(error)")
      lifecycle.end(status: 1)
    }
  }
}

/// Removes jobs that ended long ago, as `imgctl remove` does. It scans the journal in rounds, so that
/// the loop serves everything else meanwhile, however many jobs there are.
final class JobRetention {
  /// How long a job stays after its end; `nil` for ever.
  private let keptTime: Duration?
  private let journal: JobJournal
  private let changes: JobChanges
  private let lifecycle: Lifecycle
  private var next: Instant
  /// The last job that was looked at; `nil` before the oldest.
  private var cursor: JobID?

  private static let roundJobCount = 256
  private static let roundInterval = Duration.milliseconds(100)
  /// From the newest job to the oldest again.
  private static let longestInterval = Duration.seconds(60)

  /// - Parameter now: when the first round is due.
  init(
    keptTime: Duration?, journal: JobJournal, changes: JobChanges, lifecycle: Lifecycle,
    at now: Instant
  ) {
    self.keptTime = keptTime
    self.journal = journal
    self.changes = changes
    self.lifecycle = lifecycle
    next = now
  }

  /// When ``removeOldJobs(at:)`` has something to do; `nil` while every job stays.
  var deadline: Instant? {
    lifecycle.isRunning && keptTime != nil ? next : nil
  }

  /// Looks at the next jobs if a round is due.
  func removeOldJobs(at now: Instant) {
    guard let deadline, deadline <= now, let keptTime else { return }
    let wall = WallTime.now
    // A journal that cannot be read says so to clients that ask about its jobs.
    let jobs = (try? journal.stored.jobs(after: cursor, limit: Self.roundJobCount)) ?? []
    for job in jobs where !job.isActive {
      guard let end = job.finishedAt, end.duration(to: wall) >= keptTime else {
        continue
      }
      changes.remove(job, at: wall)
    }
    if jobs.count == Self.roundJobCount {
      cursor = jobs.last?.id
      next = now + Self.roundInterval
    } else {
      cursor = nil
      next = now + max(Self.roundInterval, min(Self.longestInterval, keptTime))
    }
  }
}
