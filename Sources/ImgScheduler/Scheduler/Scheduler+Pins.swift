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
      reviewSources()
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
