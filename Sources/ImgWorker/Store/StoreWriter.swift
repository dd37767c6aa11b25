import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// Performs groups of changes of the store, and tells the loop about those that something waits for.
/// A store that cannot be written stays as it was.
struct StoreWriter: Sendable {
  let store: SharedStore
  let inbox: Mailbox<Input>

  /// The most changes of one group, and of one transaction.
  static let groupMaximum = 64

  /// What the store thread does until its queue is closed and empty.
  func serve(_ queue: BlockingQueue<StoreWrite>) {
    var sweep = ExpirySweep()
    var release = PinRelease()
    while let writes = queue.take(
      upTo: Self.groupMaximum,
      until: [sweep.nextBatch, release.nextBatch].compactMap(\.self).min())
    {
      for write in writes {
        switch write {
        case .sweep(let moment): sweep.begin(at: moment)
        case .unpin(let jobs): release.begin(of: jobs)
        default: break
        }
      }
      perform(writes)
      // Also while there is always something to write.
      sweep.removeBatchIfDue(from: store, at: .now)
      if release.removeBatchIfDue(from: store, at: .now) { report() }
    }
  }

  private func perform(_ writes: [StoreWrite]) {
    putRobots(writes)
    performPartials(writes)
    performRecords(writes)
    if writes.contains(where: { if case .sweep = $0 { true } else { false } }) { report() }
  }

  /// Tells the coordinator the size of the store.
  private func report() {
    inbox.post(Input(.storeReported(store.currentReport())))
  }

  // MARK: - Before all else, because transfers wait for it

  private func putRobots(_ writes: [StoreWrite]) {
    for case .putRobots(let record, let origin) in writes {
      // Without a store this worker remembers it, and each of the others asks for itself.
      try? store.change { store throws(StoreError) in try store.keep(record, of: origin) }
      inbox.post(Input(.robotsStored(origin: origin)))
    }
  }

  private func performPartials(_ writes: [StoreWrite]) {
    let now = WallTime.now
    for write in writes {
      switch write {
      case .putPartial(let put):
        // If it cannot be stored, or read from its file, the picture is fetched from the start.
        if let bytes = try? put.body.content.bytes() {
          try? store.change { store throws(StoreError) in
            try store.putPartial(
              StoredPartial(put.body.resumeState, of: put.name), bytes: bytes, at: now)
          }
        }
        inbox.post(Input(.partialStored(put.transfer)))
      case .removePartial(let name):
        _ = try? store.change { store throws(StoreError) in try store.removePartials(of: [name]) }
      case .put, .renew, .removeStale, .extend, .pin, .sweep, .unpin, .putRobots: break
      }
    }
  }

  // MARK: - Records

  private func performRecords(_ writes: [StoreWrite]) {
    let now = WallTime.now
    var puts: [StorePut] = []
    var staleKeys: [ContentKey] = []
    var accesses: [ThumbnailAccess] = []
    var answers: [LookupResults] = []
    var pins: [(hits: [PinnedHit], answer: PinnedAnswer)] = []
    for write in writes {
      switch write {
      case .put(let put): puts.append(put)
      case .renew(let renewal): renew(renewal, at: now)
      case .removeStale(let key): staleKeys.append(key)
      case .extend(let wanted, let answer):
        accesses += wanted
        if let answer { answers.append(answer) }
      case .pin(let hits, let answer): pins.append((hits, answer))
      case .sweep, .unpin, .putRobots, .putPartial, .removePartial: break
      }
    }
    if !puts.isEmpty { put(puts, at: now) }
    extend(accesses)
    for answer in answers { inbox.post(Input(.lookedUp(answer))) }
    for (hits, answer) in pins { pin(hits, thenAnswer: answer) }
    // Last, because nothing waits for it. What was put replaced what was stale.
    let stale = Set(staleKeys).subtracting(puts.flatMap { $0.records.map(\.key) })
    if !stale.isEmpty {
      // The next look-up that finds one of them asks again.
      _ = try? store.change { store throws(StoreError) in
        try store.removeStale(Array(stale), at: now)
      }
    }
  }

  private func extend(_ accesses: [ThumbnailAccess]) {
    for start in stride(from: 0, to: accesses.count, by: Self.groupMaximum) {
      let group = Array(accesses[start...].prefix(Self.groupMaximum))
      _ = try? store.change { store throws(StoreError) in try store.extend(group) }
    }
  }

  /// Pins what was found. Hits that were evicted meanwhile are misses.
  private func pin(_ hits: [PinnedHit], thenAnswer answer: PinnedAnswer) {
    var missing: Set<LeaseID> = []
    var unpinned: Set<LeaseID> = []
    for start in stride(from: 0, to: hits.count, by: Self.groupMaximum) {
      let group = hits[start...].prefix(Self.groupMaximum)
      do throws(StoreError) {
        let gone = try store.change { store throws(StoreError) in
          try store.extend(group.flatMap(\.accesses))
        }
        missing.formUnion(
          group.filter { $0.accesses.contains { gone.contains($0.key) } }.map(\.lease))
      } catch  where error.reason == .pinned {
        unpinned.formUnion(group.map(\.lease))
      } catch {
        // Nothing is evicted from a store that cannot be written.
      }
    }
    switch answer {
    case .lookup(let results):
      inbox.post(Input(.lookedUp(results.without(unpinned, missing: missing))))
    case .stale(let lease, let thumbnail):
      guard unpinned.isEmpty else { break }
      inbox.post(Input(.staleFound(lease, missing.isEmpty ? thumbnail : nil)))
    }
    if !unpinned.isEmpty { inbox.post(Input(.unpinned(unpinned.sorted()))) }
  }

  /// A store that cannot be written still has the records, as stale as before. Records that cannot be pinned
  /// are renewed without.
  private func renew(_ renewal: StoreRenewal, at now: WallTime) {
    let end: WorkerMachine.Event?
    do throws(StoreError) {
      let isThere = try renewed(renewal.renewals, at: now)
      end = renewal.lease.map { .stored($0, isThere ? .stored : .missing) }
    } catch  where error.reason == .pinned {
      _ = try? renewed(renewal.renewals.map(\.withoutPins), at: now)
      end = renewal.lease.map { .unpinned([$0]) }
    } catch {
      end = renewal.lease.map { .stored($0, .stored) }
    }
    if let end { inbox.post(Input(end)) }
  }

  private func renewed(
    _ renewals: [Renewal], at now: WallTime
  ) throws(StoreError) -> Bool {
    try store.change { store throws(StoreError) in try store.renew(renewals, at: now) }
  }

  private func put(_ puts: [StorePut], at now: WallTime) {
    guard puts.count == 1 || !storeAll(of: puts, at: now) else { return }
    // One of the group may be the reason, so each is tried by itself, but none after one that finds no
    // room: a full disk is tried twice a group, not once a thumbnail. The next group tries again.
    var errorOfRest: StoreError?
    for put in puts {
      do throws(StoreError) {
        if let errorOfRest { throw errorOfRest }
        inbox.post(Input(try end(of: put, at: now)))
      } catch {
        if error.reason == .full { errorOfRest = error }
        inbox.post(
          Input(
            .stored(put.lease, .refused(StoreRefusal(error))),
            with: .thumbnails([put.thumbnail], upload: nil)))
      }
    }
  }

  /// Stores a whole group, and reports it.
  ///
  /// - Returns: whether it could be stored.
  private func storeAll(of puts: [StorePut], at now: WallTime) -> Bool {
    guard let missing = try? store(puts, at: now) else { return false }
    inbox.post(contentsOf: puts.map { Input($0.stored(missing: missing)) })
    return true
  }

  /// Stores what a lease has made. What cannot be pinned is stored without pins, because the lease's job
  /// fetches it again otherwise.
  private func end(
    of put: StorePut, at now: WallTime
  ) throws(StoreError) -> WorkerMachine.Event {
    do throws(StoreError) {
      return put.stored(missing: try store([put], at: now))
    } catch {
      guard error.reason == .pinned, put.isPinned else { throw error }
      _ = try? store([put.withoutPins], at: now)
      return .unpinned([put.lease])
    }
  }

  /// Stores all of them or none.
  ///
  /// - Returns: the records to be pinned that the store has no longer.
  private func store(
    _ puts: [StorePut], at now: WallTime
  ) throws(StoreError) -> Set<ContentKey> {
    try store.change { store throws(StoreError) in
      try store.put(puts.flatMap(\.records), extending: puts.flatMap(\.accesses), at: now)
    }
  }
}

extension StorePut {
  /// It is in the store.
  fileprivate func stored(missing: Set<ContentKey>) -> WorkerMachine.Event {
    .stored(lease, accesses.contains { missing.contains($0.key) } ? .missing : .stored)
  }
}

extension LookupResults {
  /// The answer in which some hits are left out, and others are misses.
  fileprivate func without(_ unpinned: Set<LeaseID>, missing: Set<LeaseID>) -> LookupResults {
    let lost = missing.union(unpinned)
    guard !lost.isEmpty else { return self }
    return LookupResults(
      hits: hits.filter { !lost.contains($0.lease) }, stale: stale.filter { !lost.contains($0) },
      originals: originals, misses: misses + missing.sorted())
  }
}

/// Removes what has expired in small batches with pauses between them, so that the other writers of
/// all processes are hardly delayed. Two sweeps at the same time share the work.
struct ExpirySweep {
  /// What has expired at this moment is removed; `nil` while there is nothing to do.
  private var moment: WallTime?
  /// When the next batch is due; `nil` while there is nothing to do.
  private(set) var nextBatch: ContinuousClock.Instant?

  /// So at most five batches a second, of some milliseconds each.
  private static let pause = Duration.milliseconds(200)

  /// Starts to remove what has expired at `moment`, or adds that to the sweep under way.
  mutating func begin(at moment: WallTime) {
    self.moment = max(self.moment ?? moment, moment)
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch. If there is nothing to remove it costs a look-up and takes no lock.
  mutating func removeBatchIfDue(from store: SharedStore, at now: ContinuousClock.Instant) {
    guard let moment, let nextBatch, nextBatch <= now else { return }
    // A store that cannot be changed now is swept another time.
    if (try? removeBatch(from: store, expiredAt: moment)) ?? false {
      self.nextBatch = .now + Self.pause
    } else {
      self = ExpirySweep()
    }
  }

  /// - Returns: whether more may be left.
  private func removeBatch(
    from store: SharedStore, expiredAt moment: WallTime
  ) throws(StoreError) -> Bool {
    guard try store.current().hasExpired(at: moment) else { return false }
    let limit = ThumbnailStore.expiredBatchCount
    return try store.change { store throws(StoreError) in
      try store.removeExpired(at: moment, limit: limit)
    } == limit
  }
}

/// Removes the pins of jobs in small batches with pauses between them, so that the other writers of all
/// processes are hardly delayed.
struct PinRelease {
  /// The jobs whose pins are still to be removed.
  private var jobs: [JobID] = []
  /// How far those of the first job are removed.
  private var cursor = PinCursor()
  /// When the next batch is due; `nil` while there is nothing to do.
  private(set) var nextBatch: ContinuousClock.Instant?

  private static let pause = Duration.milliseconds(20)

  /// Adds jobs to those whose pins are removed.
  mutating func begin(of jobs: [JobID]) {
    self.jobs += jobs.filter { !self.jobs.contains($0) }
    guard !self.jobs.isEmpty else { return }
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch.
  ///
  /// - Returns: whether it was the last one.
  mutating func removeBatchIfDue(
    from store: SharedStore, at now: ContinuousClock.Instant
  ) -> Bool {
    guard let nextBatch, nextBatch <= now else { return false }
    // The coordinator asks again for what cannot be removed now.
    if (try? removeBatch(from: store)) ?? true {
      jobs.removeFirst()
      cursor = PinCursor()
    }
    self.nextBatch = jobs.isEmpty ? nil : .now + Self.pause
    return jobs.isEmpty
  }

  /// - Returns: whether it was the last batch of the first job.
  private mutating func removeBatch(from store: SharedStore) throws(StoreError) -> Bool {
    try store.change { store throws(StoreError) in
      try store.unpinPart(of: jobs[0], at: &cursor)
    }
  }
}
