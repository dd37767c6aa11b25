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
