import ImgModel

/// Jobs: accepted, read, recorded, changed, ended.
extension Scheduler {
  /// - Precondition: the job is active and was not accepted before, or has ended since.
  mutating func acceptJob(_ record: JobRecord) {
    // A clock that was set meanwhile never makes the delay longer than it was.
    let delay = min(now.wall.duration(to: record.notBefore), record.options.delay)
    let job = ActiveJob(
      record, command: record.retries.round > 0 ? newCommand() : nil,
      lastDoubtedFailure: record.retries.includesFinal ? sources.lastFailureNumber : 0,
      isDelayed: delay > .zero,
      backlogMaximum: jobs.backlogMaximum(transfersPerHost: limits.transfersPerHost),
      at: now.instant)
    if delay > .zero { delays.set(.job(record.id), to: now.instant + delay) }
    jobs.add(job)
    if record.holdsPins, !pinRoom.isThere { jobs.beginHold(record.id) }
    divideLines()
    readOn(record.id)
    finishIfComplete(record.id)
  }

  /// To be called whenever a job has begun or ceased to be one that may start, or limits change.
  mutating func divideLines() {
    jobs.divideLines(transfersPerHost: limits.transfersPerHost)
  }

  // MARK: - Lists

  /// Asks for the next pages of a list whose cursors run low.
  mutating func readOn(_ id: JobID) {
    read(jobs.pagesToRead(of: id))
  }

  mutating func read(_ pages: [LinePageRequest]) {
    effects += pages.map { .readLines($0) }
  }

  /// Whether the answer to this is still awaited.
  package func awaits(_ request: LinePageRequest) -> Bool {
    jobs[request.job]?.awaits(request) ?? false
  }

  mutating func linesRead(_ page: LinePage, for request: LinePageRequest) {
    // The job may have ended meanwhile.
    guard jobs[request.job] != nil else { return }
    jobs.take(page, for: request)
    readOn(request.job)
  }

  /// Makes the line of a list wait for its URL.
  ///
  /// - Returns: the item if it is new and needs a look-up; `nil` when the line has joined
  ///   another or is no URL.
  mutating func takeUp(_ line: QueuedLine, of id: JobID) -> WorkID? {
    guard let (record, command) = jobs[id].map({ ($0.record, $0.command) }) else {
      preconditionFailure("\(id) has ended")
    }
    jobs.checkOut(line.index, of: id)
    switch record.lacksHeaders ? .failure(.lostHeaders) : line.url {
    case .success(let url):
      let options = record.options
      let waiter = Waiter(
        who: .line(id, index: line.index), expiry: options.expiry,
        isPinning: record.holdsPins && options.keep != .none, priority: options.priority,
        arrivalTag: jobs.servedTag(at: options.priority), command: command)
      let (item, isNew, isMoreUrgent) = addWaiter(waiter, url: url, options: options)
      if isMoreUrgent { enqueue(item) }
      return isNew ? item : nil
    case .failure(let failure):
      self.record(.failed(failure), job: id, index: line.index)
      return nil
    }
  }

  // MARK: - The journal

  /// Sends an outcome to the journal; the line counts as running until it is durable.
  mutating func record(_ outcome: Outcome, job id: JobID, index: Int) {
    let isFirst = jobs.beginRecording(of: id, at: now.wall)
    if isFirst { effects.append(.journal(.start(id, at: now.wall))) }
    effects.append(.journal(.record(id, index: index, outcome)))
  }

  mutating func journaled(_ operation: JournalOperation) {
    switch operation {
    case .record(let id, let index, let outcome):
      jobs.endRecording(of: index, outcome, of: id, at: now.instant)
      finishIfComplete(id)
    case .finish(let id, let moment):
      end(id) { $0.finish(at: moment) }
    case .change(let id, let change, let moment):
      changeIsDurable(change, of: id, at: moment)
    case .createJob, .appendURLs, .seal, .discard, .start:
      break
    }
  }

  private mutating func finishIfComplete(_ id: JobID) {
    if jobs.finishIfComplete(id) { effects.append(.journal(.finish(id, at: now.wall))) }
  }

  /// The end is durable.
  private mutating func end(_ id: JobID, _ apply: (inout JobRecord) -> Void) {
    guard let job = jobs.remove(id) else { return }
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
  mutating func changeJob(_ id: JobID, _ change: ImageJobChange) {
    guard let job = jobs[id], !job.isEnding else { return }
    effects.append(.journal(.change(id, change, at: now.wall)))
    switch change {
    case .cancel:
      jobs.beginCancel(id)
      release(linesOf: id)
    case .pause:
      jobs.beginPause(id)
      release(linesOf: id, isWaitingOnly: true)
    case .resume, .setPriority, .unpin:
      break
    case .retry, .remove:
      preconditionFailure("only jobs that have ended are retried or removed")
    }
    divideLines()
  }

  private mutating func changeIsDurable(_ change: ImageJobChange, of id: JobID, at moment: WallTime)
  {
    switch change {
    case .cancel:
      // What was recorded before it was journaled before it, so the rest of the job is exactly what
      // has no outcome.
      end(id) { $0.applyLegal(change, at: moment) }
    case .pause, .resume, .setPriority, .unpin:
      guard jobs[id] != nil else { return }
      jobs.apply(change, to: id, at: moment, now: now.instant)
      if case .setPriority = change { takeStartTagsAfresh(id) }
      divideLines()
      readOn(id)
    case .retry, .remove:
      // The job has ended and is not here; it is accepted again when it is retried.
      break
    }
  }

  /// The change cannot be made durable: what it has stopped goes on.
  mutating func withdrawChange(_ change: ImageJobChange, of id: JobID) {
    guard jobs[id] != nil else { return }
    jobs.withdraw(change, of: id)
    divideLines()
    readOn(id)
    finishIfComplete(id)
  }

  /// The job's lines leave their items, or those that wait there, and are not in hand any more.
  mutating func release(linesOf id: JobID, isWaitingOnly: Bool = false) {
    for awaited in itemsAwaited(by: id) {
      // The one before may have ended it.
      guard let item = work[awaited], !isWaitingOnly || item.stage.lease == nil else { continue }
      leave(awaited) { $0.isLine(of: id) }
    }
  }

  /// The lines that wait get start tags of the job's new priority.
  private mutating func takeStartTagsAfresh(_ id: JobID) {
    guard let priority = jobs[id]?.priority else { return }
    let served = jobs.servedTag(at: priority)
    for awaited in itemsAwaited(by: id) {
      guard work[awaited] != nil else { continue }
      Self.takeStartTagsAfresh(
        id, priority: priority, arrivalTag: served, at: awaited, in: &work, of: &jobs)
      enqueue(awaited)
    }
  }

  private static func takeStartTagsAfresh(
    _ id: JobID, priority: Int, arrivalTag: UInt64, at item: WorkID, in work: inout WorkTable,
    of jobs: inout JobTable
  ) {
    work.change(item) { item in
      item.changeWaiters { waiter in
        guard waiter.isLine(of: id) else { return }
        waiter.priority = priority
        waiter.arrivalTag = arrivalTag
        guard waiter.startTag > 0 else { return }
        waiter.startTag = 0
        jobs.assignStartTag(to: &waiter)
      }
    }
  }

  /// In the order of the start tags of the job's lines.
  private func itemsAwaited(by id: JobID) -> [WorkID] {
    work.all.compactMap { item in
      item.waiters.filter { $0.isLine(of: id) }.map(\.startTag).min().map {
        (startTag: $0, item: item.id)
      }
    }
    .sorted { ($0.startTag, $0.item) < ($1.startTag, $1.item) }.map(\.item)
  }
}
