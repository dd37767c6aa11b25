import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// The one thread of this process that writes the store.
///
/// LMDB has one writer at a time over all processes, so a write may wait. What gathers meanwhile is
/// committed as one group, see ``StoreWriter``.
struct StoreThread {
  private let thread: ServiceThread<StoreWrite>

  /// Beyond what leases wait for: lazy writes and sweeps, any of which may be dropped.
  private static let lazyCapacity = 4_096

  /// - Parameters:
  ///   - credits: the leases and the look-ups that may wait keep within them.
  ///   - inbox: gets an event for each write that something waits for, once it is in the store or
  ///     cannot be.
  init(store: SharedStore, credits: Credits, inbox: Mailbox<Input>) throws(SystemError) {
    let writer = StoreWriter(store: store, inbox: inbox)
    thread = try ServiceThread(
      name: "store", capacity: credits.leases + credits.lookups + Self.lazyCapacity
    ) { queue in
      var sweep = ExpirySweep()
      var release = PinRelease()
      while let writes = queue.take(
        upTo: StoreWriter.groupMaximum,
        until: [sweep.nextBatch, release.nextBatch].compactMap(\.self).min())
      {
        for write in writes {
          switch write {
          case .sweep(let moment): sweep.begin(at: moment)
          case .unpin(let jobs): release.begin(of: jobs)
          default: break
          }
        }
        writer.perform(writes)
        // Also while there is always something to write.
        sweep.removeBatchIfDue(from: store, at: .now)
        if release.removeBatchIfDue(from: store, at: .now) { writer.report() }
      }
    }
  }

  // MARK: - What a lease waits for

  func put(_ puts: [StorePut]) {
    push(puts.map(StoreWrite.put))
  }

  /// Stores a partial body, whose leases are told then.
  func put(_ put: PartialPut) {
    push(.putPartial(put))
  }

  /// Renews the records of a lease; without one, lazily.
  func renew(_ renewal: StoreRenewal) {
    if renewal.lease == nil { pushLazily(.renew(renewal)) } else { push(.renew(renewal)) }
  }

  /// Keeps records for longer before the look-up that found them is answered.
  func extend(_ accesses: [ThumbnailAccess], thenAnswer answer: LookupResults) {
    push(.extend(accesses, answer: answer))
  }

  /// Pins records before the leases that found them are answered.
  func pin(_ hits: [PinnedHit], thenAnswer answer: PinnedAnswer) {
    push(.pin(hits, answer: answer))
  }

  /// Stores an origin's robots.txt, which leases wait for.
  func put(_ robots: RobotsRecord, of origin: String) {
    push(.putRobots(robots, origin: origin))
  }

  private func push(_ write: StoreWrite) {
    push([write])
  }

  private func push(_ writes: [StoreWrite]) {
    let isQueued = thread.queue.push(contentsOf: writes)
    precondition(isQueued, "the store's queue holds all that the credits allow")
  }

  // MARK: - What nothing waits for

  /// Keeps records for longer. One that is dropped is found due again by the next look-up.
  func extend(_ accesses: [ThumbnailAccess]) {
    if !accesses.isEmpty { pushLazily(.extend(accesses, answer: nil)) }
  }

  /// Removes a record. One that is dropped is found stale again by the next look-up.
  func removeStale(_ key: ContentKey) {
    pushLazily(.removeStale(key))
  }

  /// Removes a partial body. One that is dropped costs the next transfer a request in vain.
  func removePartial(of name: PictureName) {
    pushLazily(.removePartial(name))
  }

  /// Removes what has expired at `moment` in small steps, see ``ExpirySweep``. A sweep that is dropped
  /// is asked for again.
  func sweep(at moment: WallTime) {
    pushLazily(.sweep(moment))
  }

  /// Removes all pins of jobs in small steps, see ``PinRelease``. A release that is dropped is asked for
  /// again.
  func unpin(_ jobs: [JobID]) {
    pushLazily(.unpin(jobs))
  }

  private func pushLazily(_ write: StoreWrite) {
    guard thread.queue.count < Self.lazyCapacity else { return }
    _ = thread.queue.push(write)
  }

  /// Writes what is queued, then ends the thread.
  func finish() {
    thread.join()
  }
}
