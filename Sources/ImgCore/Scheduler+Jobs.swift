import ImgModel

/// Jobs: accepted, read, recorded, changed, ended.
extension Scheduler {
  /// Lines without an outcome that may be in hand at once, shared evenly by the jobs that may start:
  /// what does not start soon stays on disk.
  static let linesInHandMaximum = 4_096
  /// What each job may have in hand however many there are.
  static let linesInHandMinimum = 64
  /// Lines read from the journal at once, at most.
  private static let pageLineCountMaximum = 1_024

  /// Lines of one host that a job may have waiting: enough to keep the host's places busy, few
  /// enough that many slow hosts can be waited for within the job's share.
  private var backlogMaximum: Int {
    let share = linesInHandPerJob
    return max(4, share / 256, min(2 * limits.transfersPerHost, share / 16))
  }

  /// To be called whenever a job has begun or ceased to be one that may start, or limits change.
  mutating func divideLines() {
    let count = jobs.values.count { $0.isStartable }
    linesInHandPerJob = max(Self.linesInHandMaximum / max(count, 1), Self.linesInHandMinimum)
    let backlogMaximum = backlogMaximum
    for id in jobs.keys.sorted() {
      jobs[id]?.setBacklogMaximum(backlogMaximum)
      giveTurn(to: id)
    }
  }

  /// - Precondition: the job is active and was not accepted before, or has ended since.
  mutating func acceptJob(_ record: JobRecord) {
    precondition(jobs[record.id] == nil && record.isActive, "a job is accepted once")
    var job = ActiveJob(record, backlogMaximum: backlogMaximum, at: now.instant)
    if record.retries.round > 0 { job.command = newCommand() }
    if record.retries.includesFinal { job.lastDoubtedFailure = rememberedFailures.lastNumber }
    // However the clock was set meanwhile, it is never longer than it was meant to be.
    let delay = min(
      now.wall.milliseconds(to: record.notBefore), record.options.delayMilliseconds)
    if delay > 0 {
      job.isDelayed = true
      delays.set(.job(record.id), to: now.instant + .milliseconds(delay))
    }
    jobs[record.id] = job
    divideLines()
    readOn(record.id)
    finishWhenComplete(record.id)
  }

  /// A person asks for something now, see ``HostHealth``.
  mutating func newCommand() -> CommandID {
    lastCommand += 1
    return CommandID(rawValue: lastCommand)
  }

  /// Asks for the next pages of a list whose cursors run low.
  mutating func readOn(_ id: JobID) {
    let lineCount = min(Self.pageLineCountMaximum, linesInHandPerJob)
    var ticket = lastTicket
    let requests = jobs[id]?.nextPages(lineCount: lineCount) {
      ticket += 1
      return ticket
    }
    lastTicket = ticket
    effects += (requests ?? []).map { .readLines($0) }
  }

  /// Whether the answer to this is still of use.
  package func awaits(_ request: LinePageRequest) -> Bool {
    jobs[request.job]?.awaits(request) ?? false
  }

  mutating func linesRead(_ page: LinePage, for request: LinePageRequest) {
    jobs[request.job]?.take(page, for: request)
    readOn(request.job)
    giveTurn(to: request.job)
  }

  /// Makes the line of a list wait for its URL.
  ///
  /// - Returns: the item when it is new and is to be looked up; `nil` when the line has joined
  ///   another or is no URL.
  mutating func takeUp(_ line: QueuedLine, of id: JobID) -> WorkID? {
    // No copy of the job may be alive while it changes, or all that is in hand would be copied.
    guard let options = jobs[id]?.record.options,
      let lacksHeaders = jobs[id]?.record.lacksHeaders
    else { return nil }
    jobs[id]?.takeInHand(line.index)
    switch lacksHeaders ? .failure(.lostHeaders) : line.url {
    case .success(let url):
      let waiter = Waiter(
        who: .line(id, index: line.index), expiry: options.expiry, priority: options.priority,
        arrivalTurn: turnsServed[options.priority] ?? 0, command: jobs[id]?.command)
      let (item, isNew) = join(waiter, url: url, options: options)
      return isNew ? item : nil
    case .failure(let failure):
      record(.failed(failure), job: id, index: line.index)
      return nil
    }
  }

  // MARK: - The journal

  /// Hands an outcome to the journal; the line counts as running until it is durable.
  mutating func record(_ outcome: Outcome, job id: JobID, index: Int) {
    noteStart(of: id)
    jobs[id]?.unrecordedCount += 1
    unrecordedCount += 1
    effects.append(.journal(.record(id, index: index, outcome)))
  }

  /// A line has left the queue; the job's first one starts the job.
  mutating func noteStart(of id: JobID) {
    guard let job = jobs[id], job.record.startedAt == nil else { return }
    jobs[id]?.record.startedAt = now.wall
    effects.append(.journal(.start(id, at: now.wall)))
  }

  mutating func journaled(_ operation: JournalOperation) {
    switch operation {
    case .record(let id, let index, let outcome):
      unrecordedCount -= 1
      jobs[id]?.letGo(index)
      jobs[id]?.unrecordedCount -= 1
      jobs[id]?.record.count(outcome)
      jobs[id]?.movedAt = now.instant
      giveTurn(to: id)
      finishWhenComplete(id)
    case .finish(let id, let moment):
      end(id) { $0.finish(at: moment) }
    case .change(let id, let change, let moment):
      changeIsDurable(change, of: id, at: moment)
    case .createJob, .appendURLs, .seal, .discard, .start:
      break
    }
  }

  private mutating func finishWhenComplete(_ id: JobID) {
    guard let job = jobs[id], !job.isEnding, job.record.counts.finished == job.record.counts.total
    else { return }
    jobs[id]?.isEnding = true
    effects.append(.journal(.finish(id, at: now.wall)))
  }

  /// The end is durable.
  private mutating func end(_ id: JobID, _ apply: (inout JobRecord) -> Void) {
    guard let job = jobs.removeValue(forKey: id) else { return }
    turns.remove(id, priority: job.priority)
    delays.remove(.job(id))
    divideLines()
    var record = job.record
    apply(&record)
    effects.append(.jobEnded(record))
  }

  // MARK: - Changes

  /// What a pause or a cancel stops, stops at once; everything else changes when it is durable.
  ///
  /// - Precondition: the change is legal for the job's record, and is no retry and no removal.
  mutating func changeJob(_ id: JobID, _ change: JobChange) {
    guard let job = jobs[id], !job.isEnding else { return }
    effects.append(.journal(.change(id, change, at: now.wall)))
    switch change {
    case .cancel:
      jobs[id]?.isEnding = true
      jobs[id]?.startOver()
      release(linesOf: id)
    case .pause:
      jobs[id]?.isPaused = true
      jobs[id]?.startOver()
      release(linesOf: id, isWaitingOnly: true)
    case .resume, .prioritise:
      break
    case .retry, .remove:
      preconditionFailure("only what has ended is retried or removed")
    }
    divideLines()
  }

  private mutating func changeIsDurable(_ change: JobChange, of id: JobID, at moment: WallTime) {
    switch change {
    case .cancel:
      // What was recorded before it was journaled before it, so the rest of the job is exactly what
      // has no outcome.
      end(id) { Self.apply(change, to: &$0, at: moment) }
    case .pause, .resume, .prioritise:
      guard var record = jobs[id]?.record else { return }
      if case .prioritise = change { turns.remove(id, priority: record.options.priority) }
      Self.apply(change, to: &record, at: moment)
      jobs[id]?.record = record
      jobs[id]?.isPaused = record.state == .paused
      if change == .resume { jobs[id]?.movedAt = now.instant }
      if case .prioritise = change { prioritise(id) }
      divideLines()
      readOn(id)
    case .retry, .remove:
      // The job has ended and is not here; it is accepted again when it is retried.
      break
    }
  }

  /// The change cannot be made durable: what it has stopped goes on.
  mutating func withdrawChange(_ change: JobChange, of id: JobID) {
    guard let state = jobs[id]?.record.state else { return }
    if change == .cancel { jobs[id]?.isEnding = false }
    jobs[id]?.isPaused = state == .paused
    divideLines()
    readOn(id)
    finishWhenComplete(id)
  }

  private static func apply(_ change: JobChange, to record: inout JobRecord, at moment: WallTime) {
    do {
      try record.apply(change, at: moment)
    } catch {
      preconditionFailure("what is not legal was refused: \(error)")
    }
  }

  /// The job's lines leave their items, or those that wait there, and are not in hand any more.
  private mutating func release(linesOf id: JobID, isWaitingOnly: Bool = false) {
    for item in itemsAwaited(by: id) where !isWaitingOnly || items[item]?.stage.lease == nil {
      leave(item) { $0.isLine(of: id) }
    }
  }

  /// The lines that wait take their turns at the new priority.
  private mutating func prioritise(_ id: JobID) {
    guard let priority = jobs[id]?.priority else { return }
    giveTurn(to: id)
    jobs[id]?.lastTurn = 0
    let served = turnsServed[priority] ?? 0
    for awaited in itemsAwaited(by: id) {
      guard var item = items[awaited] else { continue }
      item.changeWaiters { waiter in
        guard waiter.isLine(of: id) else { return }
        waiter.priority = priority
        waiter.arrivalTurn = served
        guard waiter.turn > 0 else { return }
        waiter.turn = 0
        giveTurn(&waiter)
      }
      items[item.id] = item
      queue(item)
    }
  }

  /// In the order of the turns of the job's lines.
  private func itemsAwaited(by id: JobID) -> [WorkID] {
    items.values.compactMap { item in
      item.waiters.filter { $0.isLine(of: id) }.map(\.turn).min().map {
        (turn: $0, item: item.id)
      }
    }
    .sorted { ($0.turn, $0.item.rawValue) < ($1.turn, $1.item.rawValue) }.map(\.item)
  }

  mutating func changeLimits(_ change: LimitChange) {
    limits.apply(change)
    transferQueue.apply(limits, at: now.instant)
    divideLines()
  }
}
