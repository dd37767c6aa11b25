import ImgFetch
import ImgModel
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
  ///   - partials: gets back what is left of a body when it is in the store, or cannot be.
  ///   - answers: gets the answers of look-ups whose extensions are in the store.
  ///   - robots: gets the origins whose robots.txt is in the store, or cannot be.
  init(
    store: SharedStore, credits: Credits, results: Mailbox<StoreResult>,
    partials: Mailbox<PartialPut>, answers: Mailbox<LookupResults>, robots: Mailbox<String>
  ) throws(SystemError) {
    thread = try ServiceThread(
      name: "store", capacity: credits.leases + credits.lookups + Self.lazyCapacity
    ) { queue in
      var sweep = ExpirySweep()
      while let writes = queue.take(upTo: Self.groupMaximum, until: sweep.nextBatch) {
        for case .sweep(let moment) in writes { sweep.begin(at: moment) }
        Self.keepRobots(writes, in: store, robots: robots)
        Self.carryOutPartials(writes, in: store, results: partials)
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

  /// Keeps what is left of a body, whose leases are told then.
  func put(_ put: PartialPut) {
    let isQueued = thread.queue.push(.putPartial(put))
    precondition(isQueued, "the store's queue holds all leases that the credits allow")
  }

  /// Deletes lazily: what is not deleted now costs the next transfer a request in vain.
  func removePartial(of name: PictureName) {
    pushLazily(.removePartial(name))
  }

  /// Renews what a lease has found to be still as it is stored, lazily where none waits.
  func renew(_ renewal: StoreRenewal) {
    guard renewal.lease != nil else { return pushLazily(.renew(renewal)) }
    let isQueued = thread.queue.push(.renew(renewal))
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

  /// Keeps what an origin's robots.txt says, for a lease that waits for it.
  func keep(_ robots: RobotsRecord, of origin: String) {
    let isQueued = thread.queue.push(.keepRobots(robots, origin: origin))
    precondition(isQueued, "a lease that waits for a robots.txt has nothing to store")
  }

  private static func keepRobots(
    _ writes: [StoreWrite], in store: SharedStore, robots: Mailbox<String>
  ) {
    for case .keepRobots(let record, let origin) in writes {
      // Without a store this worker remembers it, and each of the others asks for itself.
      try? store.change { store throws(StoreError) in try store.keep(record, of: origin) }
      robots.post(origin)
    }
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
      case .renew(let renewal): renew(renewal, at: now, in: store, results: results)
      case .removeStale(let key): staleKeys.append(key)
      case .extend(let wanted, let answer):
        accesses += wanted
        if let answer { awaitedAnswers.append(answer) }
      case .sweep, .keepRobots, .putPartial, .removePartial:
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

  private static func carryOutPartials(
    _ writes: [StoreWrite], in store: SharedStore, results: Mailbox<PartialPut>
  ) {
    let now = WallTime(rawValue: WallClock.milliseconds())
    for write in writes {
      switch write {
      case .putPartial(let put):
        // Where it cannot be stored, or read from its file, the whole picture is fetched.
        if let bytes = try? put.partial.content.bytes() {
          try? store.change { store throws(StoreError) in
            try store.putPartial(
              StoredPartial(put.partial.resumeState, of: put.name), bytes: bytes, at: now)
          }
        }
        results.post(put)
      case .removePartial(let name):
        _ = try? store.change { store throws(StoreError) in try store.removePartials(of: [name]) }
      case .put, .renew, .removeStale, .extend, .sweep, .keepRobots: break
      }
    }
  }

  private static func extend(_ accesses: [ThumbnailAccess], in store: SharedStore) {
    for start in stride(from: 0, to: accesses.count, by: groupMaximum) {
      let group = Array(accesses[start...].prefix(groupMaximum))
      // A store that cannot be written has the thumbnails all the same, for as long as before.
      try? store.change { store throws(StoreError) in try store.extend(group) }
    }
  }

  private static func renew(
    _ renewal: StoreRenewal, at now: WallTime, in store: SharedStore,
    results: Mailbox<StoreResult>
  ) {
    // A store that cannot be written has the records all the same, as stale as before.
    let isThere =
      try? store.change { store throws(StoreError) in
        try store.renew(renewal.renewals, at: now)
      }
    guard let lease = renewal.lease else { return }
    results.post(StoreResult(lease: lease, ending: isThere == false ? .gone : .stored))
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
