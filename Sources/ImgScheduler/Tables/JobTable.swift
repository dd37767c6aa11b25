package import ImgModel

/// The jobs that have not ended: their lines at hand, whose turn it is, and which outcomes are not
/// durable.
package struct JobTable {
  private var jobs = NumberedTable<JobID, ActiveJob>()
  private var turns = JobTurns()
  /// Lines without an outcome that each job may have in hand.
  package private(set) var linesInHandPerJob = linesInHandMaximum
  /// The jobs with lines that wait behind earlier ones.
  package private(set) var withHeldLines = NumberedSet<JobID>()
  /// Outcomes sent to the journal and not yet durable.
  package private(set) var unrecordedCount = 0
  private var lastTicket: UInt64 = 0

  /// Lines without an outcome that may be in hand at once, shared evenly by the jobs that may start:
  /// what does not start soon stays on disk.
  static let linesInHandMaximum = 4_096
  /// What each job may have in hand however many there are.
  static let linesInHandMinimum = 64
  /// Lines read from the journal at once, at most.
  private static let pageLineCountMaximum = 1_024

  package var isEmpty: Bool { jobs.isEmpty }
  package var count: Int { jobs.count }
  package var all: [ActiveJob] { Array(jobs.values) }
  package var ids: [JobID] { Array(jobs.keys) }

  /// - Returns: `nil` when the job has ended.
  package subscript(id: JobID) -> ActiveJob? { jobs[id] }

  /// Changes a job in place, so that its sets are not copied.
  ///
  /// - Precondition: the job has not ended.
  @discardableResult
  mutating func change<Result>(_ id: JobID, _ body: (inout ActiveJob) -> Result) -> Result {
    jobs.change(id, body)
  }

  // MARK: - Beginning and end

  /// - Precondition: the job is active, and was not accepted before or has ended since.
  mutating func add(_ job: ActiveJob) {
    precondition(jobs[job.id] == nil && job.record.isActive, "a job is accepted once")
    jobs.set(job.id, to: job)
  }

  /// The job's end is durable.
  ///
  /// - Returns: `nil` when it has ended before.
  mutating func remove(_ id: JobID) -> ActiveJob? {
    guard let job = jobs.remove(id) else { return nil }
    turns.remove(id, priority: job.priority)
    return job
  }

  /// Ends the job when every line has its outcome.
  ///
  /// - Precondition: the job has not ended.
  /// - Returns: what journals its end.
  mutating func finishIfComplete(_ id: JobID, at now: WallTime) -> [Effect] {
    change(id) { $0.finishIfComplete() } ? [.journal(.finish(id, at: now))] : []
  }

  // MARK: - Changes

  /// A change that does not end the job is durable. At another priority the job takes its turns
  /// afresh.
  ///
  /// - Precondition: the job has not ended.
  mutating func apply(_ change: ImageJobChange, to id: JobID, at moment: WallTime, now: Instant) {
    guard case .setPriority = change else {
      return self.change(id) { $0.apply(change, at: moment, now: now) }
    }
    let oldPriority = self.change(id) { job in
      defer {
        job.apply(change, at: moment, now: now)
        (job.lastStartTag, job.lastPostponedTag) = (0, 0)
      }
      return job.priority
    }
    turns.remove(id, priority: oldPriority)
    enqueue(id)
  }

  // MARK: - Lists

  /// Shares the lines in hand among the jobs: to be called whenever a job has begun or ceased to be
  /// one that may start, or limits change.
  mutating func divideLines(transfersPerHost: Int) {
    let count = jobs.values.count { $0.isStartable }
    linesInHandPerJob = max(Self.linesInHandMaximum / max(count, 1), Self.linesInHandMinimum)
    let backlogMaximum = backlogMaximum(transfersPerHost: transfersPerHost)
    for id in jobs.keys.sorted() {
      change(id) { $0.setBacklogMaximum(backlogMaximum) }
      enqueue(id)
    }
  }

  /// Lines of one host that a job may have waiting: enough to keep the host's slots busy, few
  /// enough that many slow hosts can be waited for within the job's share.
  func backlogMaximum(transfersPerHost: Int) -> Int {
    let share = linesInHandPerJob
    return max(4, share / 256, min(2 * transfersPerHost, share / 16))
  }

  /// Asks for the next pages of a list whose cursors run low.
  ///
  /// - Precondition: the job has not ended.
  mutating func readOn(_ id: JobID) -> [Effect] {
    let lineCount = min(Self.pageLineCountMaximum, linesInHandPerJob)
    var ticket = lastTicket
    defer { lastTicket = ticket }
    let pages = change(id) { job in
      job.nextPages(lineCount: lineCount) {
        ticket += 1
        return ticket
      }
    }
    return pages.map { .readLines($0) }
  }

  /// Takes in a page, if it is still awaited.
  ///
  /// - Returns: what asks for the next ones; nothing for a job that has ended meanwhile.
  mutating func take(_ page: LinePage, for request: LinePageRequest) -> [Effect] {
    guard jobs.contains(request.job) else { return [] }
    change(request.job) { $0.take(page, for: request) }
    enqueue(request.job)
    return readOn(request.job)
  }

  /// Takes a line off its list, the jobs of the highest priority in turn, one line each, so that a
  /// job of ten URLs is not behind a job of ten million. It is in hand until its outcome is durable or it
  /// goes back.
  ///
  /// - Returns: the line, and what asks for further ones of the jobs whose turns came.
  mutating func nextLine() -> (line: (job: JobID, line: QueuedLine)?, effects: [Effect]) {
    let share = linesInHandPerJob
    var effects: [Effect] = []
    for level in turns.levelIndices {
      while let id = turns.removeFirst(atLevel: level) {
        let line = change(id) { $0.takeNextLine(share: share) }
        effects += readOn(id)
        guard let line else { continue }
        enqueue(id)
        change(id) { $0.checkOut(line.index) }
        return ((id, line), effects)
      }
    }
    return (nil, effects)
  }

  /// A line goes back to its list, and the next line gets its start tag.
  ///
  /// - Precondition: the job has not ended.
  /// - Returns: what asks for the pages that have to be read for it.
  mutating func sendBack(
    _ index: Int, startTag: UInt64, host: String, of id: JobID
  ) -> [Effect] {
    change(id) { job in
      if startTag > 0 { job.lastStartTag = min(job.lastStartTag, startTag - 1) }
      job.requeue(index, host: host)
    }
    defer { enqueue(id) }
    return readOn(id)
  }

  // MARK: - Turns

  /// The job may have a line to take: more was read, a line has got its outcome, a host has room, or
  /// the job goes on.
  ///
  /// - Precondition: the job has not ended.
  mutating func enqueue(_ id: JobID) {
    guard let priority = jobs.read(id, { $0.priority }) else {
      preconditionFailure("\(id) has ended")
    }
    turns.append(id, priority: priority)
  }

  /// What the lines of a job ask for; `nil` when the job has ended.
  func terms(of id: JobID) -> LineTerms? { jobs.read(id) { $0.terms } }

  /// Whether a user has paused the job, or it waits for room in the store; `false` for one that has ended.
  func isStopped(_ id: JobID) -> Bool {
    jobs.read(id) { $0.isStopped } ?? false
  }

  /// The look-up of an item is over. Its lines get start tags, if they have none. Lines beside a
  /// viewer need none, because they begin with it.
  mutating func assignStartTags(to id: WorkID, in work: inout WorkTable) {
    guard work.read(id, { $0.isOfLines }) else { return }
    work.change(id) { item in item.changeWaiters { assignStartTag(to: &$0) } }
  }

  /// A job has another priority. Its line at an item gets a start tag of that, if it has one.
  ///
  /// - Parameter arrivalTag: see ``Waiter/arrivalTag``.
  mutating func renewStartTag(
    ofLineOf id: JobID, priority: Int, arrivalTag: UInt64, at item: WorkID,
    in work: inout WorkTable
  ) {
    work.change(item) { item in
      item.changeWaiters { waiter in
        guard waiter.isLine(of: id) else { return }
        waiter.priority = priority
        waiter.arrivalTag = arrivalTag
        guard waiter.startTag > 0 else { return }
        waiter.startTag = 0
        assignStartTag(to: &waiter)
      }
    }
  }

  /// An attempt for an item is repeated. Its lines get start tags behind those of their jobs' lines in hand, and take
  /// no room from others.
  ///
  /// - Parameter isFirst: whether none was repeated before.
  mutating func postponeLines(at id: WorkID, isFirst: Bool, in work: inout WorkTable) {
    let host = work.item(id).host
    work.change(id) { item in
      item.changeWaiters { waiter in
        guard let job = waiter.job, waiter.startTag > 0 else { return }
        waiter.startTag = change(job) { job in
          if isFirst { job.makeRoomForRepeated(at: host) }
          return job.postponedStartTag(after: waiter.arrivalTag)
        }
      }
    }
  }

  /// Gives a line its start tag, if it has none.
  mutating func assignStartTag(to waiter: inout Waiter) {
    guard waiter.startTag == 0, let id = waiter.job else { return }
    let arrivalTag = waiter.arrivalTag
    waiter.startTag = change(id) { job in
      job.lastStartTag = job.nextStartTag(after: arrivalTag)
      return job.lastStartTag
    }
  }

  /// The item of the job's first line that waits behind others and may begin; `nil` when none may.
  func nextHeldItem(of id: JobID) -> WorkID? { jobs.read(id) { $0.lookups.next } ?? nil }

  /// How urgent such a line is; `nil` when the job has ended.
  ///
  /// - Parameter arrivalTag: see ``Waiter/arrivalTag``.
  func urgency(ofLineOf id: JobID, arrivalTag: UInt64, at item: WorkID) -> Urgency? {
    jobs.read(id) { job in
      Urgency(
        priority: job.priority, startTag: job.nextStartTag(after: arrivalTag), item: item)
    }
  }

  /// The highest start tag served at a priority; 0 before the first.
  func servedTag(at priority: Int) -> UInt64 { turns.servedTag(at: priority) }

  /// What is as urgent begins: a transfer, or what needs none. The start tag of a line is served.
  mutating func serve(_ urgency: Urgency) {
    guard urgency.viewer == 0, RequestOptions.priorityRange.contains(urgency.priority) else {
      return
    }
    turns.serve(urgency.startTag, at: urgency.priority)
  }

  // MARK: - Counts

  /// Counts the lines among `waiters` in or out of their jobs' numbers.
  ///
  /// - Precondition: no job of theirs has ended.
  /// - Returns: what journals the start of the jobs that this starts.
  mutating func count(
    _ waiters: [Waiter], at item: WorkID, host: String, by numbers: StageNumbers, at now: WallTime
  ) -> [Effect] {
    guard numbers != StageNumbers() else { return [] }
    var effects: [Effect] = []
    for waiter in waiters {
      guard case .line(let id, let index) = waiter.who else { continue }
      let (isAnyWaiting, isFirst) = change(id) { job in
        job.count(index, at: item, host: host, by: numbers)
        return (job.lookups.isAnyWaiting, numbers.leased > 0 && job.start(at: now))
      }
      if numbers.behindEarlierLines != 0 {
        if isAnyWaiting { withHeldLines.insert(id) } else { withHeldLines.remove(id) }
      }
      if numbers.backlog != HostBacklog() { enqueue(id) }
      if isFirst { effects.append(.journal(.start(id, at: now))) }
    }
    return effects
  }

  /// An outcome is sent to the journal; the line counts as running until it is durable.
  ///
  /// - Precondition: the job has not ended.
  /// - Returns: whether this starts the job.
  mutating func beginRecording(_ outcome: Outcome, of id: JobID, at now: WallTime) -> Bool {
    unrecordedCount += 1
    return change(id) { job in
      job.beginRecording(outcome)
      return job.start(at: now)
    }
  }

  /// An outcome is durable. The last one ends the job.
  ///
  /// - Precondition: it was sent to the journal, and the job has not ended.
  /// - Returns: what journals the job's end.
  mutating func endRecording(
    of index: Int, _ outcome: Outcome, of id: JobID, at now: Moment
  ) -> [Effect] {
    precondition(unrecordedCount > 0, "an outcome is durable that was not sent")
    unrecordedCount -= 1
    change(id) { $0.endRecording(of: index, outcome, at: now.instant) }
    enqueue(id)
    return finishIfComplete(id, at: now.wall)
  }
}

/// The jobs of each priority that may have a line to take, in the order in which their turns come,
/// and how far the start tags of each priority have come.
struct JobTurns {
  private var levels = [TurnQueue<JobID>](
    repeating: TurnQueue(), count: RequestOptions.priorityRange.count)
  /// The highest start tag served, by priority, see ``Urgency/startTag``.
  private var servedTags: [Int: UInt64] = [:]

  /// The indices of the levels, that of the highest priority first.
  var levelIndices: Range<Int> { levels.indices }

  private static func level(of priority: Int) -> Int {
    RequestOptions.priorityRange.upperBound - priority
  }

  /// Has a job wait for its turn; it keeps its position when it waits already.
  mutating func append(_ job: JobID, priority: Int) {
    levels[Self.level(of: priority)].append(job)
  }

  mutating func remove(_ job: JobID, priority: Int) {
    levels[Self.level(of: priority)].remove(job)
  }

  /// Takes the job whose turn it is.
  mutating func removeFirst(atLevel level: Int) -> JobID? { levels[level].removeFirst() }

  /// The highest start tag served at a priority; 0 before the first.
  func servedTag(at priority: Int) -> UInt64 { servedTags[priority] ?? 0 }

  /// A line with this start tag begins.
  mutating func serve(_ startTag: UInt64, at priority: Int) {
    servedTags[priority] = max(servedTag(at: priority), startTag)
  }
}

extension JobRecord {
  /// Applies a change that was found to be legal when it was requested.
  mutating func applyLegal(_ change: ImageJobChange, at moment: WallTime) {
    do {
      try apply(change, at: moment)
    } catch {
      preconditionFailure("an illegal change was not refused: \(error)")
    }
  }
}

extension Failure {
  /// Of a line that the journal has lost.
  static let damagedList = Failure(
    stage: .queue, code: .internal, isRetryable: false,
    detail: "the journal is damaged here: this line of the list is lost")

  /// Of a line whose job has lost the headers to ask with.
  static let lostHeaders = Failure(
    stage: .queue, code: .internal, isRetryable: false,
    detail: "the values of the job's headers, or its cookies, are lost or damaged; submit the list "
      + "again")
}

/// What is made from pictures. All lines of a job share one, because it is large.
final class SharedRequest: Sendable {
  let request: ThumbnailRequest
  /// The same for all requests that join each other.
  private let joinable: ThumbnailRequest
  private let isForEveryURL: Bool

  init(_ request: ThumbnailRequest) {
    self.request = request
    var joinable = request
    joinable.keep = request.keep.joinable
    self.joinable = joinable
    isForEveryURL = request.fetch.isForEveryURL
  }

  /// The same for a URL, without what is for others.
  func narrowed(to url: ImageURL) -> SharedRequest {
    guard url.isLocal || !isForEveryURL else { return self }
    var narrowed = request
    narrowed.fetch = request.fetch.narrowed(to: url)
    // A client that has a local URL has the picture already.
    if url.isLocal { narrowed.keep = request.keep.withoutOriginal }
    return SharedRequest(narrowed)
  }

  /// Whether it asks for the same.
  func isEqual(to other: SharedRequest) -> Bool { self === other || request == other.request }

  func joins(_ other: SharedRequest) -> Bool { self === other || joinable == other.joinable }
}

extension Keep {
  /// The policy of requests that join each other: they have the same result, and an original is kept for one of
  /// them only where that is cheap.
  fileprivate var joinable: Keep {
    switch self {
    case .thumbnail, .auto: .auto
    case .none, .original, .undecodedOriginal, .all, .facts, .allFacts, .pixelFacts: self
    }
  }
}

/// What every line of a job asks for.
final class LineTerms: Sendable {
  let request: SharedRequest
  let options: RequestOptions
  private let pins: [JobID]
  private let command: CommandID?
  /// Whether the job has lost the headers to ask with.
  let lacksHeaders: Bool

  init(_ record: JobRecord, command: CommandID?) {
    request = SharedRequest(record.options.request)
    options = record.options
    pins = record.holdsPins && record.options.request.keep != .none ? [record.id] : []
    self.command = command
    lacksHeaders = record.lacksHeaders
  }

  func waiter(of job: JobID, index: Int, arrivalTag: UInt64) -> Waiter {
    Waiter(
      who: .line(job, index: index), expiry: options.expiry, pins: pins,
      priority: options.priority, arrivalTag: arrivalTag, command: command,
      timeout: options.timeout, hostRatePerMinute: options.hostRatePerMinute,
      attempts: options.attempts)
  }
}
