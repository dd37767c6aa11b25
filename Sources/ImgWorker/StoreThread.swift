import ImgStore
import ImgSystem
import ImgWire

/// The one thread of this process that writes the store.
///
/// LMDB has one writer at a time over all processes, so a write may wait; what gathers meanwhile is
/// committed as one group.
struct StoreThread {
  private let thread: ServiceThread<StoreWrite>

  private static let groupMaximum = 64
  /// Beyond what somebody waits for: lazy writes and sweeps, of which any may be dropped.
  private static let lazyCapacity = 4_096

  /// - Parameters:
  ///   - credits: the thumbnails and the look-ups that may wait keep within them.
  ///   - answers: gets the answers of look-ups whose extensions are in the store.
  init(
    store: SharedStore, credits: Credits, results: Mailbox<StoreResult>,
    answers: Mailbox<LookupResults>
  ) throws(SystemError) {
    thread = try ServiceThread(
      name: "store", capacity: credits.leases + credits.lookups + Self.lazyCapacity
    ) { queue in
      var sweep = ExpirySweep()
      while let writes = queue.take(upTo: Self.groupMaximum, until: sweep.nextBatch) {
        for case .sweep(let moment) in writes { sweep.begin(at: moment) }
        Self.carryOut(writes, in: store, results: results, answers: answers)
        // Also while there is always something to write.
        sweep.removeBatchIfDue(from: store, at: .now)
      }
    }
  }

  func put(_ put: StorePut) {
    let isQueued = thread.queue.push(.put(put))
    precondition(isQueued, "the store's queue holds all leases that the credits allow")
  }

  /// Deletes lazily: a record that is not deleted now is found stale again by the next look-up.
  func removeStale(_ key: ContentKey) {
    pushLazily(.removeStale(key))
  }

  /// Extends lazily: what is not extended now is found due again by the next look-up.
  func extend(_ accesses: [ThumbnailAccess]) {
    pushLazily(.extend(accesses, answer: nil))
  }

  /// Extends what somebody wants kept for longer, before the look-up that found it is answered.
  func extend(_ accesses: [ThumbnailAccess], thenAnswer answer: LookupResults) {
    let isQueued = thread.queue.push(.extend(accesses, answer: answer))
    precondition(isQueued, "the store's queue holds all look-ups that the credits allow")
  }

  private func pushLazily(_ write: StoreWrite) {
    guard thread.queue.count < Self.lazyCapacity else { return }
    _ = thread.queue.push(write)
  }

  /// Removes what has expired at `moment`, little by little, see ``ExpirySweep``.
  func sweep(at moment: WallTime) {
    // With so much to write it is not for now; it is asked for again.
    pushLazily(.sweep(moment))
  }

  /// Writes what is queued, then ends the thread.
  func finish() {
    thread.join()
  }

  private static func carryOut(
    _ writes: [StoreWrite], in store: SharedStore, results: Mailbox<StoreResult>,
    answers: Mailbox<LookupResults>
  ) {
    let now = WallTime(rawValue: WallClock.milliseconds())
    var puts: [StorePut] = []
    var staleKeys: [ContentKey] = []
    var accesses: [ThumbnailAccess] = []
    var awaitedAnswers: [LookupResults] = []
    for write in writes {
      switch write {
      case .put(let put): puts.append(put)
      case .removeStale(let key): staleKeys.append(key)
      case .extend(let wanted, let answer):
        accesses += wanted
        if let answer { awaitedAnswers.append(answer) }
      case .sweep:
        break
      }
    }
    if !puts.isEmpty { put(puts, at: now, in: store, results: results) }
    extend(accesses, in: store)
    awaitedAnswers.forEach(answers.post)
    // Last, because nobody waits for it; what was put took the place of what was stale.
    let stale = Set(staleKeys).subtracting(puts.flatMap { $0.kept.map(\.key) })
    if !stale.isEmpty { remove(Array(stale), at: now, from: store) }
  }

  private static func remove(_ stale: [ContentKey], at now: WallTime, from store: SharedStore) {
    // The next look-up that finds one of them will ask again.
    _ = try? store.change { store throws(StoreError) in
      try store.removeStale(stale, at: now)
    }
  }

  private static func extend(_ accesses: [ThumbnailAccess], in store: SharedStore) {
    for start in stride(from: 0, to: accesses.count, by: groupMaximum) {
      let group = Array(accesses[start...].prefix(groupMaximum))
      // A store that cannot be written has the thumbnails all the same, for as long as before.
      try? store.change { store throws(StoreError) in try store.extend(group) }
    }
  }

  private static func put(
    _ puts: [StorePut], at now: WallTime, in store: SharedStore, results: Mailbox<StoreResult>
  ) {
    guard puts.count == 1 || refusal(of: puts, at: now, in: store) != nil else {
      for put in puts { results.post(StoreResult(lease: put.lease, ending: .stored)) }
      return
    }
    // One of the group may be the reason, so each is tried by itself; but none after one that finds
    // no room: a full disk is tried twice a group, not once a thumbnail. The next group tries anew.
    var refusalOfRest: StoreRefusal?
    for single in puts {
      let refusal = refusalOfRest ?? refusal(of: [single], at: now, in: store)
      if refusal?.isForWantOfRoom == true { refusalOfRest = refusal }
      results.post(
        StoreResult(
          lease: single.lease, ending: refusal.map { .refused(single.thumbnail, $0) } ?? .stored))
    }
  }

  /// Stores all of them or none.
  ///
  /// - Returns: why it is none; `nil` when they are in the store.
  private static func refusal(
    of puts: [StorePut], at now: WallTime, in store: SharedStore
  ) -> StoreRefusal? {
    do throws(StoreError) {
      try store.change { store throws(StoreError) in
        try store.put(puts.flatMap(\.kept), at: now)
      }
      return nil
    } catch {
      return StoreRefusal(error)
    }
  }
}
