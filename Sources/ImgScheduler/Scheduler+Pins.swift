import ImgModel

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
      if let held = leases[lease], held.worker == worker { held.transfer.map { stopJoining($0) } }
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
