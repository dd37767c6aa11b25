import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// Performs the machine's effects on the store: reads at once, and has the one thread of this process
/// write that writes the store.
///
/// LMDB has one writer at a time over all processes, so a write may wait. What gathers meanwhile is
/// committed as one group, see ``StoreWriter``.
struct StoreDriver {
  private(set) var queries: StoreQueries
  private let thread: ServiceThread<StoreWrite>
  private var puts = GatheredPuts()

  /// The lazy writes and sweeps that may wait beside what leases wait for. Any of them may be dropped.
  private static let lazyCapacity = 4_096

  /// - Parameters:
  ///   - credits: the leases and the look-ups that may wait keep within them.
  ///   - autoOriginalPercent: how much of the store the originals may take that `Keep.auto` keeps.
  ///   - inbox: gets an event for each write that something waits for, once it is in the store or
  ///     cannot be.
  init(
    _ store: SharedStore, credits: Credits, autoOriginalPercent: Int = 0, inbox: Mailbox<Input>
  ) throws(SystemError) {
    let unstoredRobots = UnstoredRobots()
    queries = StoreQueries(store: store, unstoredRobots: unstoredRobots)
    let writer = StoreWriter(
      store: store, unstoredRobots: unstoredRobots, inbox: inbox,
      autoOriginalPercent: autoOriginalPercent)
    thread = try ServiceThread(
      name: "store", capacity: credits.leases + credits.lookups + Self.lazyCapacity,
      body: writer.serve)
  }

  mutating func beginTurn() {
    queries.beginTurn()
  }

  /// Writes what is queued, then ends the thread.
  mutating func finish() {
    queue(puts.take().map(StoreWrite.put))
    thread.join()
  }

  /// Has the store thread make a change. One that nothing waits for is dropped while very many are queued.
  func write(_ change: StoreWrite) {
    if change.isAwaited {
      queue([change])
    } else if thread.queue.count < Self.lazyCapacity {
      _ = thread.queue.push(change)
    }
  }

  /// The store thread takes them together.
  func queue(_ changes: [StoreWrite]) {
    let isQueued = thread.queue.push(contentsOf: changes)
    precondition(isQueued, "the store's queue holds all that the credits allow")
  }

  /// When ``writePuts(amongLeases:at:)`` has something to do; `nil` while no put waits.
  var deadline: ContinuousClock.Instant? { puts.deadline }

  /// Writes the puts that have waited long enough. Writes them earlier if no other lease can bring
  /// one.
  ///
  /// - Parameter leaseCount: all leases of the worker, also those whose puts wait or are being
  ///   written.
  mutating func writePuts(amongLeases leaseCount: Int, at now: ContinuousClock.Instant) {
    if puts.isDue(amongLeases: leaseCount, at: now) { queue(puts.take().map(StoreWrite.put)) }
  }

  /// The put is written with others, see ``writePuts(amongLeases:at:)``.
  ///
  /// - Parameters:
  ///   - thumbnails: the bytes of the thumbnails, in the order of the request's variants.
  ///   - original: where the picture is, if that is among the records.
  /// - Throws: if the picture cannot be read.
  mutating func put(
    _ request: StoreRequest, thumbnails: [[UInt8]], original: OriginalSource?
  ) throws(SystemError) {
    let order = request.order
    var records: [NewThumbnail] = []
    var longOriginal: LongOriginal?
    for record in request.records {
      switch (record.kind, original) {
      case (.thumbnail(let index), _):
        records.append(NewThumbnail(record, of: order, content: .bytes(thumbnails[index])))
      case (.original, let original?):
        let byteCount = record.picture.byteCount
        guard byteCount > ChunkedContent.maximumRecordByteCount else {
          let bytes = try original.bytes(in: 0..<byteCount)
          records.append(NewThumbnail(record, of: order, content: .bytes(bytes)))
          break
        }
        let content = ChunkedContent(byteCount: byteCount)
        let new = NewThumbnail(record, of: order, content: .chunks(content))
        records.append(new)
        longOriginal = LongOriginal(key: new.key, content: content, source: original)
      case (.original, nil): preconditionFailure("an original comes with its bytes")
      }
    }
    let access = ThumbnailAccess(
      key: ContentKey(originalOf: order.name), retention: order.retention, at: .now)
    puts.add(
      StorePut(
        lease: order.lease, records: records, longOriginal: longOriginal,
        accesses: request.extendsOriginal ? [access] : [], thumbnail: thumbnails.first ?? []),
      isUrgent: order.isUrgent, at: .now)
  }
}

/// Puts on their way to the store thread.
///
/// A transaction costs several writes and a flush of the disk, however little it stores. Puts for
/// lists therefore wait some milliseconds for others. A put whose lease was granted for a client is
/// written at once, together with all that wait.
struct GatheredPuts {
  private var puts: [StorePut] = []
  /// When they are written at the latest; `nil` while there are none.
  private(set) var deadline: ContinuousClock.Instant?

  /// A decoder makes about a dozen thumbnails in this time, so few leases wait.
  static let longestWait = Duration.milliseconds(25)

  /// - Parameter isUrgent: whether a client waits for it.
  mutating func add(_ put: StorePut, isUrgent: Bool, at now: ContinuousClock.Instant) {
    puts.append(put)
    let isComplete = isUrgent || puts.count >= StoreWriter.groupMaximum
    deadline = isComplete ? now : deadline ?? now + Self.longestWait
  }

  /// Whether they have waited long enough, or no other lease can bring one.
  ///
  /// - Parameter leaseCount: all leases of the worker, also those whose puts wait here or are being
  ///   written.
  func isDue(amongLeases leaseCount: Int, at now: ContinuousClock.Instant) -> Bool {
    deadline.map { $0 <= now || puts.count >= leaseCount } ?? false
  }

  /// Takes all of them, in their order.
  mutating func take() -> [StorePut] {
    defer { self = GatheredPuts() }
    return puts
  }
}

/// Performs groups of changes of the store, and tells the loop about those that something waits for.
/// A store that cannot be written stays as it was.
struct StoreWriter: Sendable {
  let store: SharedStore
  let unstoredRobots: UnstoredRobots
  let inbox: Mailbox<Input>
  let autoOriginalPercent: Int

  /// The most changes of one group, and of one transaction.
  static let groupMaximum = 64
  /// The most hits that one transaction pins. A pin is short, and a transaction costs as much as a hundred.
  private static let pinMaximum = 512

  /// What the store thread does until its queue is closed and empty.
  func serve(_ queue: BlockingQueue<StoreWrite>) {
    var sweep = ExpirySweep()
    var release = PinRelease()
    var longPuts = LongPuts()
    while let writes = queue.take(
      upTo: Self.groupMaximum,
      until: [sweep.nextBatch, release.nextBatch, longPuts.nextGroup].compactMap(\.self).min())
    {
      for write in writes {
        switch write {
        case .sweep(let moment): sweep.begin(at: moment)
        case .unpin(let jobs): release.begin(of: jobs)
        case .put(let put): longPuts.add(put)
        default: break
        }
      }
      perform(writes)
      if let ended = longPuts.writeGroup(to: store, at: .now) { end(ended, at: .now) }
      // Also while there is always something to write.
      sweep.removeBatchIfDue(from: store, at: .now)
      if release.removeBatchIfDue(from: store, at: .now) { report() }
    }
    while longPuts.nextGroup != nil {
      if let ended = longPuts.writeGroup(to: store, at: .now) { end(ended, at: .now) }
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
      let isStored: Void? = try? store.change { store throws(StoreError) in
        try store.keep(record, of: origin)
      }
      // Without a store each of the other workers asks for itself.
      if isStored == nil { unstoredRobots.keep(record, of: origin) }
      inbox.post(Input(.robotsStored(origin: origin, isStored: isStored != nil)))
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
              StoredPartial(url: put.name.recordText, state: put.body.resumeState), bytes: bytes,
              at: now)
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
      case .put(let put): if put.longOriginal == nil { puts.append(put) }
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
    if !pins.isEmpty { pin(pins) }
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

  /// What became of hits that were to be pinned.
  private struct Pinning {
    /// Those that were evicted meanwhile.
    var missing: Set<LeaseID> = []
    /// Those for which the limit of pins has no room.
    var unpinned: Set<LeaseID> = []
  }

  /// Pins what was found by several look-ups. Hits that were evicted meanwhile are misses.
  private func pin(_ pins: [(hits: [PinnedHit], answer: PinnedAnswer)]) {
    var pinning = Pinning()
    pin(pins.flatMap(\.hits)[...], groupMaximum: Self.pinMaximum, into: &pinning)
    inbox.post(
      contentsOf: pins.compactMap { hits, answer in
        switch answer {
        case .lookup(let results):
          let missing = pinning.missing.intersection(hits.map(\.lease))
          return Input(.lookedUp(results.without(pinning.unpinned, missing: missing)))
        case .stale(let lease, _) where pinning.unpinned.contains(lease): return nil
        case .stale(let lease, let thumbnail):
          return Input(.staleFound(lease, pinning.missing.contains(lease) ? nil : thumbnail))
        }
      })
    if !pinning.unpinned.isEmpty { inbox.post(Input(.unpinned(pinning.unpinned.sorted()))) }
  }

  /// - Parameter groupMaximum: the most hits of one transaction.
  private func pin(_ hits: ArraySlice<PinnedHit>, groupMaximum: Int, into pinning: inout Pinning) {
    for start in stride(from: hits.startIndex, to: hits.endIndex, by: groupMaximum) {
      let group = hits[start...].prefix(groupMaximum)
      do throws(StoreError) {
        let gone = try store.change { store throws(StoreError) in
          try store.extend(group.flatMap(\.accesses))
        }
        guard !gone.isEmpty else { continue }
        pinning.missing.formUnion(
          group.filter { $0.accesses.contains { gone.contains($0.key) } }.map(\.lease))
      } catch  where error.reason == .pinned {
        // There may be room for a part of them.
        if group.count > Self.groupMaximum {
          pin(group, groupMaximum: Self.groupMaximum, into: &pinning)
        } else {
          pinning.unpinned.formUnion(group.map(\.lease))
        }
      } catch {
        // Nothing is evicted from a store that cannot be written.
      }
    }
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
        refuse(put, because: error)
      }
    }
  }

  /// The chunks of a put are stored, or cannot be.
  private func end(_ put: LongPuts.Ended, at now: WallTime) {
    if let rest = put.put.withoutSpare, !put.isWritten {
      removeChunks(of: put.put)
      return self.put([rest], at: now)
    }
    switch put {
    case .written(let put): self.put([put], at: now)
    case .unreadable(let put, let error):
      removeChunks(of: put)
      inbox.post(Input(.stored(put.lease, .failed(Failure(unreadableBody: error)))))
    case .refused(let put, let error) where error.endsWithRoom && put.isPinned:
      removeChunks(of: put)
      inbox.post(Input(.unpinned([put.lease])))
    case .refused(let put, let error): refuse(put, because: error)
    }
  }

  private func refuse(_ put: StorePut, because error: StoreError) {
    removeChunks(of: put)
    inbox.post(
      Input(
        .stored(put.lease, .refused(StoreRefusal(error))),
        with: .thumbnails([put.thumbnail], upload: nil)))
  }

  /// What cannot be removed now is removed when it is abandoned.
  private func removeChunks(of put: StorePut) {
    guard let content = put.longOriginal?.content else { return }
    try? store.change { store throws(StoreError) in try store.removeChunks(of: content) }
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
      if let rest = put.withoutSpare {
        removeChunks(of: put)
        return try end(of: rest, at: now)
      }
      guard error.endsWithRoom, put.isPinned else { throw error }
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
      try store.put(
        puts.flatMap(\.records), extending: puts.flatMap(\.accesses),
        sparePercent: autoOriginalPercent, at: now)
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
