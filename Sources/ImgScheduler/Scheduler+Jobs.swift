import ImgModel

/// Jobs: accepted, read, recorded, changed, ended.
extension Scheduler {
  /// - Precondition: the job is active and was not accepted before, or has ended since.
  mutating func acceptJob(_ record: JobRecord) {
    // Found in the journal: no worker was ready yet.
    if record.startedAt != nil, workers.isEmpty { fetches.queue.noteRestart(at: now.instant) }
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
    if record.holdsPins, !pinRoom.isThere { jobs.change(record.id) { $0.beginHold() } }
    divideLines()
    effects += jobs.readOn(record.id) + jobs.finishIfComplete(record.id, at: now.wall)
  }

  /// To be called whenever a job has begun or ceased to be one that may start, or limits change.
  mutating func divideLines() {
    jobs.divideLines(transfersPerHost: limits.transfersPerHost)
  }

  /// Whether the answer to this is still awaited.
  package func awaits(_ request: LinePageRequest) -> Bool {
    jobs[request.job]?.awaits(request) ?? false
  }

  // MARK: - The journal

  // MARK: - Changes

  /// What a pause or a cancel stops, stops at once; everything else changes when it is durable.
  ///
  /// - Precondition: the change is legal for the job's record, and is no retry and no removal.
  mutating func changeJob(_ id: JobID, _ change: ImageJobChange) {
    guard let job = jobs[id], !job.isEnding else { return }
    effects.append(.journal(.change(id, change, at: now.wall)))
    switch change {
    case .cancel:
      jobs.change(id) { $0.beginCancel() }
      release(linesOf: id)
    case .pause:
      jobs.change(id) { $0.beginPause() }
      release(linesOf: id, isWaitingOnly: true)
    case .resume, .setPriority, .unpin:
      break
    case .retry, .remove:
      preconditionFailure("only jobs that have ended are retried or removed")
    }
    divideLines()
  }

  mutating func changeIsDurable(_ change: ImageJobChange, of id: JobID, at moment: WallTime) {
    switch change {
    case .cancel:
      // What was recorded before it was journaled before it, so the rest of the job is exactly what
      // has no outcome.
      end(id) { $0.applyLegal(change, at: moment) }
    case .pause, .resume, .setPriority, .unpin:
      guard jobs[id] != nil else { return }
      jobs.apply(change, to: id, at: moment, now: now.instant)
      if case .setPriority = change { renewStartTags(id) }
      if let job = jobs[id], job.isHeld, !awaitsRoom(job, by: store.report) {
        jobs.change(id) { [now] in $0.endHold(at: now.instant) }
      }
      divideLines()
      effects += jobs.readOn(id)
    case .retry, .remove:
      // The job has ended and is not here; it is accepted again when it is retried.
      break
    }
  }

  /// The change cannot be made durable: what it has stopped goes on.
  mutating func withdrawChange(_ change: ImageJobChange, of id: JobID) {
    guard jobs[id] != nil else { return }
    jobs.change(id) { $0.withdraw(change) }
    divideLines()
    effects += jobs.readOn(id) + jobs.finishIfComplete(id, at: now.wall)
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
  private mutating func renewStartTags(_ id: JobID) {
    guard let priority = jobs[id]?.priority else { return }
    let served = jobs.servedTag(at: priority)
    for awaited in itemsAwaited(by: id) {
      guard work[awaited] != nil else { continue }
      jobs.renewStartTag(
        ofLineOf: id, priority: priority, arrivalTag: served, at: awaited, in: &work)
      enqueue(awaited)
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

/// Jobs that pin their thumbnails, see `PinPolicy`. While pinned thumbnails use up the store, or the disk is full,
/// such a job waits: its next thumbnail would not be stored, or replace an earlier one.
extension Scheduler {
  /// Whether jobs may wait for room in the store.
  package var awaitsRoomForPins: Bool { !pinRoom.isThere && !jobs.isEmpty }

  /// Whether jobs wait for room in the store.
  package var areJobsHeld: Bool {
    pinRoom.isKnown && !pinRoom.isThere && jobs.all.contains(where: \.isHeld)
  }

  /// A worker tells the size of the store.
  mutating func storeReported(_ report: StoreReport) {
    store.note(report)
    pinRoom.update(report)
    if !pinRoom.isThere { holdPinningJobs() }
    let ready = jobs.all.filter { $0.isHeld && !awaitsRoom($0, by: report) }.map(\.id).sorted()
    for id in ready { jobs.change(id) { [now] in $0.endHold(at: now.instant) } }
    guard !ready.isEmpty else { return }
    divideLines()
    for id in ready { effects += jobs.readOn(id) }
  }

  /// Whether a job that waits for room goes on waiting. The pins of one that was unpinned are removed part by part: until
  /// the last is, its next thumbnails may find no room.
  private func awaitsRoom(_ job: ActiveJob, by report: StoreReport?) -> Bool {
    if job.record.holdsPins { return !pinRoom.isThere }
    return report?.pinningJobs.contains(job.id) ?? false
  }

  /// The store has no room to pin what these leases are about. The lines that pin it go back to their lists;
  /// other requests find it in the store.
  mutating func unpinned(_ unpinned: [LeaseID], by worker: WorkerID) {
    workers.answered(worker, at: now.instant)
    pinRoom.noteRefusal()
    holdPinningJobs()
    for lease in unpinned {
      fetches.stopJoining(ofLease: lease, by: worker)
      let isFetched = fetches.leases[lease].map { $0.purpose != .lookup } ?? false
      guard let item = fetches.end(lease, of: worker, in: &workers, at: now.instant) else {
        continue
      }
      for waiter in remove(from: item, where: \.isPinning) {
        guard isFetched, case .line(let job, let index) = waiter.who else { continue }
        jobs.change(job) { $0.noteFetched(index) }
      }
      awaitLookup(item)
    }
  }

  /// Lines that wait go back to their lists; those that are under way end first.
  private mutating func holdPinningJobs() {
    let pinning = jobs.all.filter { $0.record.holdsPins && !$0.isHeld && !$0.isEnding }
    for id in pinning.map(\.id).sorted() {
      jobs.change(id) { $0.beginHold() }
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

/// What is fetched more than once.
extension Scheduler {
  /// What has come in vain for lines of jobs without an outcome. The first that waits for a picture counts it.
  var unreportedByteCounts: [JobID: Int64] {
    partlyFetched.reduce(into: [:]) { counts, id in
      let (job, byteCount) = work.read(id) { ($0.waiters.first?.job, $0.unreportedByteCount) }
      if let job { counts[job, default: 0] += Int64(byteCount) }
    }
  }
}
