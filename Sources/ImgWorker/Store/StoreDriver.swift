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
  let queries: StoreQueries
  private let thread: ServiceThread<StoreWrite>
  private var puts = GatheredPuts()

  /// Beyond what leases wait for: lazy writes and sweeps, any of which may be dropped.
  private static let lazyCapacity = 4_096

  /// - Parameters:
  ///   - credits: the leases and the look-ups that may wait keep within them.
  ///   - inbox: gets an event for each write that something waits for, once it is in the store or
  ///     cannot be.
  init(_ store: SharedStore, credits: Credits, inbox: Mailbox<Input>) throws(SystemError) {
    queries = StoreQueries(store: store)
    let writer = StoreWriter(store: store, inbox: inbox)
    thread = try ServiceThread(
      name: "store", capacity: credits.leases + credits.lookups + Self.lazyCapacity,
      body: writer.serve)
  }

  /// Writes what is queued, then ends the thread.
  mutating func finish() {
    queue(puts.take().map(StoreWrite.put))
    thread.join()
  }

  // MARK: - Reads that are followed by a write

  /// - Returns: the answer; none if the store thread answers, once what was found is kept for as long
  ///   as the look-up asks.
  func lookUp(_ batch: Batch) -> [WorkerMachine.Event] {
    let found = queries.lookUp(batch, at: .now)
    for key in found.staleKeys { write(.removeStale(key)) }
    if !found.pinnedHits.isEmpty {
      write(.pin(found.pinnedHits, answer: .lookup(found.results)))
      return []
    }
    // Nothing waits for what records ask for by themselves.
    if !found.accesses.isEmpty, batch.retention != Retention() {
      write(.extend(found.accesses, answer: found.results))
      return []
    }
    extend(found.accesses)
    return [.lookedUp(found.results)]
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
      write(.pin([hit], answer: .stale(order.lease, thumbnail)))
      return []
    }
    extend(accesses)
    return [.staleFound(order.lease, thumbnail)]
  }

  private func extend(_ accesses: [ThumbnailAccess]) {
    if !accesses.isEmpty { write(.extend(accesses, answer: nil)) }
  }

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
    let lease = answer.thumbnail == nil ? nil : order.lease
    write(.renew(StoreRenewal(lease: lease, renewals: renewals)))
    return answer.thumbnail.map(RenewalFinding.thumbnail)
      ?? renewals.first.map { .original($0.terms) } ?? .unmatched
  }

  // MARK: - Writes

  /// Has the store thread make a change. One that nothing waits for is dropped while very many are queued.
  func write(_ change: StoreWrite) {
    if change.isAwaited {
      queue([change])
    } else if thread.queue.count < Self.lazyCapacity {
      _ = thread.queue.push(change)
    }
  }

  private func queue(_ changes: [StoreWrite]) {
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
  ///   - original: those of the picture, if that is among the records.
  mutating func put(_ request: StoreRequest, thumbnails: [[UInt8]], original: [UInt8]?) {
    let order = request.order
    let records = request.records.map { record in
      switch record.kind {
      case .thumbnail(let index): NewThumbnail(record, of: order, bytes: thumbnails[index])
      case .original: NewThumbnail(record, of: order, bytes: original ?? [])
      }
    }
    let access = ThumbnailAccess(
      key: ContentKey(originalOf: order.name), retention: order.retention, at: .now)
    puts.add(
      StorePut(
        lease: order.lease, records: records, accesses: request.extendsOriginal ? [access] : [],
        thumbnail: thumbnails[0]),
      isUrgent: order.isUrgent, at: .now)
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
