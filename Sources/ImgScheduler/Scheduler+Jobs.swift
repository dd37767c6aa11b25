import ImgModel

/// Jobs: accepted, read, recorded, changed, ended.
extension Scheduler {
  /// - Precondition: the job is active and was not accepted before, or has ended since.
  mutating func acceptJob(_ record: JobRecord) {
    // A clock that was set meanwhile never makes the delay longer than it was.
    let delay = min(now.wall.duration(to: record.notBefore), record.options.delay)
    let job = ActiveJob(
      record, command: record.retries.round > 0 ? newCommand() : nil,
      lastDoubtedFailure: record.retries.includesFinal ? fetches.sources.lastFailureNumber : 0,
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
    guard let (options, isPinning, command) = jobs.terms(of: id) else {
      preconditionFailure("\(id) has ended")
    }
    jobs.checkOut(line.index, of: id)
    switch jobs.lacksHeaders(id) ? .failure(.lostHeaders) : line.url {
    case .success(let url):
      let waiter = Waiter(
        who: .line(id, index: line.index), expiry: options.expiry,
        isPinning: isPinning && options.keep != .none, priority: options.priority,
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

/// Jobs that pin their thumbnails, see `PinPolicy`. While pinned thumbnails use up the store, such a job
/// waits: its next thumbnail would not be stored, or replace an earlier one.
extension Scheduler {
  /// Whether jobs may wait for room in the store.
  package var awaitsRoomForPins: Bool { !pinRoom.isThere && !jobs.isEmpty }

  /// A worker tells the size of the store.
  mutating func storeReported(_ report: StoreReport) {
    store.note(report)
    pinRoom.update(report)
    guard pinRoom.isThere else { return holdPinningJobs() }
    let held = jobs.all.filter(\.isHeld).map(\.id).sorted()
    for id in held { jobs.endHold(of: id, at: now.instant) }
    guard !held.isEmpty else { return }
    divideLines()
    for id in held { readOn(id) }
  }

  /// The store has no room to pin what these leases are about. The lines that pin it go back to their lists;
  /// other requests find it in the store.
  mutating func unpinned(_ unpinned: [LeaseID], by worker: WorkerID) {
    workers.answered(worker, at: now.instant)
    pinRoom.noteRefusal()
    holdPinningJobs()
    for lease in unpinned {
      fetches.stopJoining(ofLease: lease, by: worker)
      guard let item = endLease(lease, of: worker) else { continue }
      sendBackPinningLines(of: item)
      awaitLookup(item)
    }
  }

  /// Lines that wait go back to their lists; those that are under way end first.
  private mutating func holdPinningJobs() {
    let pinning = jobs.all.filter { $0.record.holdsPins && !$0.isHeld && !$0.isEnding }
    for id in pinning.map(\.id).sorted() {
      jobs.beginHold(id)
      release(linesOf: id, isWaitingOnly: true)
    }
    if !pinning.isEmpty { divideLines() }
  }
}

/// Whether the store has room for further pinned thumbnails, as the refusals and the reports of workers tell.
///
/// After a refusal, jobs go on once a report says that there is room. If they are refused again and nothing was
/// pinned meanwhile, what they need is larger than that room. From then on there is room only when less is
/// pinned, or the store has grown: a picture is not fetched again and again in vain.
struct PinRoom {
  private enum State {
    /// No worker has reported since the start. What was pinned before may use up the store.
    case unknown
    /// The report since which there is room, and whether a thumbnail was refused before and nothing was
    /// pinned since.
    case there(StoreReport, afterRefusal: Bool)
    /// What is pinned leaves too little.
    case usedUp
    /// A thumbnail was refused; again, if there was room by a report after an earlier refusal.
    case refused(again: StoreReport?)
    /// A thumbnail was refused again where this much was pinned.
    case refusedAt(StoreReport)
  }

  private var state = State.unknown

  var isThere: Bool { if case .there = state { true } else { false } }
  var isKnown: Bool { if case .unknown = state { false } else { true } }

  mutating func noteRefusal() {
    switch state {
    case .refused, .refusedAt: break
    case .there(let report, afterRefusal: true): state = .refused(again: report)
    case .there, .unknown, .usedUp: state = .refused(again: nil)
    }
  }

  mutating func update(_ report: StoreReport) {
    switch state {
    case .unknown, .usedUp:
      state = report.hasRoomForPins ? .there(report, afterRefusal: false) : .usedUp
    case .there(let first, let afterRefusal):
      if report.pinnedByteCount >= StoreReport.pinLimit(of: report.effectiveByteCount) {
        state = .usedUp
      } else if afterRefusal, report.pinnedByteCount != first.pinnedByteCount {
        state = .there(report, afterRefusal: false)
      }
    case .refused(again: nil):
      if report.hasRoomForPins { state = .there(report, afterRefusal: true) }
    case .refused(again: let earlier?):
      state = .refusedAt(report.pinnedByteCount > earlier.pinnedByteCount ? report : earlier)
    case .refusedAt(let first):
      let isMore =
        report.pinnedByteCount < first.pinnedByteCount
        || report.effectiveByteCount > first.effectiveByteCount
      if isMore, report.hasRoomForPins { state = .there(report, afterRefusal: true) }
    }
  }
}
