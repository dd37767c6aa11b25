import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// Performs the machine's effects on the store: reads at once, writes on the store thread.
struct StoreDriver {
  private let queries: StoreQueries
  private let thread: StoreThread
  private var puts = GatheredPuts()

  init(_ store: SharedStore, credits: Credits, inbox: Mailbox<Input>) throws(SystemError) {
    queries = StoreQueries(store: store)
    thread = try StoreThread(store: store, credits: credits, inbox: inbox)
  }

  /// Writes what is queued, then ends the thread.
  mutating func finish() {
    thread.put(puts.take())
    thread.finish()
  }

  // MARK: - Reads

  /// - Returns: the answer; none if the store thread answers, once what was found is kept for as long
  ///   as the look-up asks.
  func lookUp(_ batch: Batch) -> [WorkerMachine.Event] {
    let found = queries.lookUp(batch, at: .now)
    found.staleKeys.forEach(thread.removeStale)
    if !found.pinnedHits.isEmpty {
      thread.pin(found.pinnedHits, thenAnswer: .lookup(found.results))
      return []
    }
    // Nothing waits for what records ask for by themselves.
    if !found.accesses.isEmpty, batch.retention != Retention() {
      thread.extend(found.accesses, thenAnswer: found.results)
      return []
    }
    thread.extend(found.accesses)
    return [.lookedUp(found.results)]
  }

  func hasOriginal(for order: FetchOrder) -> Bool {
    queries.hasOriginal(for: order, at: .now)
  }

  /// Finds the thumbnail that answers an order although its transfer failed. It is kept for as long
  /// as the order asks, but nothing waits for that.
  ///
  /// - Returns: the answer; none if the store thread answers, once what was found is pinned.
  func findStale(_ order: FetchOrder) -> [WorkerMachine.Event] {
    let now = WallTime.now
    guard let answer = queries.answerAfterError(to: order, at: now),
      let thumbnail = answer.thumbnail
    else { return [.staleFound(order.lease, nil)] }
    let accesses = answer.accesses(keeping: order.retention, at: now)
    guard order.retention.pins.isEmpty else {
      let hit = PinnedHit(lease: order.lease, accesses: accesses)
      thread.pin([hit], thenAnswer: .stale(order.lease, thumbnail))
      return []
    }
    thread.extend(accesses)
    return [.staleFound(order.lease, thumbnail)]
  }

  func validators(for order: FetchOrder) -> Validators? {
    queries.validators(for: order, at: .now)
  }

  func partial(for order: FetchOrder, copiedBy pool: TransferPool) -> PartialBody? {
    queries.partial(for: order, copiedBy: pool, at: .now)
  }

  func robots(of origin: String) -> KnownRobots? {
    queries.robots(of: origin, at: .now)
  }

  // MARK: - Writes

  /// Renews the records that the origin confirmed.
  func renew(_ order: FetchOrder, confirmedBy notModified: NotModified) -> RenewalFinding {
    guard let answer = queries.answer(to: order, confirmedBy: notModified, at: .now) else {
      return .unmatched
    }
    // Of an original alone, what is made from it is pinned, and the original with it if the order keeps it.
    let retention = answer.thumbnail == nil ? order.retention.withoutPins : order.retention
    let renewals = answer.records.map { record in
      Renewal(of: record, terms: notModified.terms(of: record.terms), retention: retention)
    }
    if let thumbnail = answer.thumbnail {
      thread.renew(StoreRenewal(lease: order.lease, renewals: renewals))
      return .thumbnail(thumbnail)
    }
    thread.renew(StoreRenewal(lease: nil, renewals: renewals))
    return renewals.first.map { .original($0.terms) } ?? .unmatched
  }

  /// When ``writePuts(amongLeases:at:)`` has something to do; `nil` while no put waits.
  var deadline: ContinuousClock.Instant? { puts.deadline }

  /// Writes the puts that have waited long enough. Writes them earlier if no other lease can bring
  /// one.
  ///
  /// - Parameter leaseCount: all leases of the worker, also those whose puts wait or are being
  ///   written.
  mutating func writePuts(amongLeases leaseCount: Int, at now: ContinuousClock.Instant) {
    if puts.isDue(amongLeases: leaseCount, at: now) { thread.put(puts.take()) }
  }

  /// The put is written with others, see ``writePuts(amongLeases:at:)``.
  ///
  /// - Parameters:
  ///   - thumbnails: the bytes of the thumbnails, in the order of the request's variants.
  ///   - original: those of the picture, if that is among the records.
  mutating func put(_ request: StoreRequest, thumbnails: [[UInt8]], original: [UInt8]?) {
    let records = request.records.map { record in
      switch record.kind {
      case .thumbnail(let index):
        NewThumbnail(record, of: request.order, bytes: thumbnails[index])
      case .original: NewThumbnail(record, of: request.order, bytes: original ?? [])
      }
    }
    let order = request.order
    let access = ThumbnailAccess(
      key: ContentKey(originalOf: order.name), retention: order.retention, at: .now)
    puts.add(
      StorePut(
        lease: order.lease, records: records, accesses: request.extendsOriginal ? [access] : [],
        thumbnail: thumbnails[0]),
      isUrgent: order.isUrgent, at: .now)
  }

  func put(_ partial: PartialBody, leftBy transfer: TransferID, of name: PictureName) {
    thread.put(PartialPut(transfer: transfer, name: name, body: partial))
  }

  func put(_ robots: KnownRobots, of origin: String) {
    thread.put(
      RobotsRecord(text: robots.rules.text, expiresAt: robots.expiresAt), of: origin)
  }

  func removePartial(of name: PictureName) {
    thread.removePartial(of: name)
  }

  func sweep(at moment: WallTime) {
    thread.sweep(at: moment)
  }

  func unpin(_ jobs: [JobID]) {
    thread.unpin(jobs)
  }
}

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

/// Puts on their way to the store thread.
///
/// A transaction costs several writes and a flush of the disk, however little it stores. Puts for
/// lists therefore wait a few milliseconds for others. A put whose lease was granted for a client is
/// written at once, together with all that wait.
struct GatheredPuts {
  private var puts: [StorePut] = []
  /// When they are written at the latest; `nil` while there are none.
  private(set) var deadline: ContinuousClock.Instant?

  /// A decoder makes a few thumbnails in this time, so few leases wait.
  static let longestWait = Duration.milliseconds(8)

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
