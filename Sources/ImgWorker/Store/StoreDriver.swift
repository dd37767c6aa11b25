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
  func staleThumbnail(for order: FetchOrder) -> Thumbnail? {
    let now = WallTime.now
    guard let answer = queries.answerAfterError(to: order, at: now) else { return nil }
    thread.extend(answer.accesses(keeping: order.retention, at: now))
    return answer.thumbnail
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
    let renewals = answer.records.map { record in
      Renewal(
        of: record, terms: notModified.terms(of: record.terms), retention: order.retention)
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
    puts.add(
      StorePut(lease: request.order.lease, records: records, thumbnail: thumbnails[0]),
      isUrgent: request.order.isUrgent, at: .now)
  }

  func put(_ partial: PartialBody, leftBy transfer: TransferID, of name: PictureName) {
    thread.put(PartialPut(transfer: transfer, name: name, body: partial))
  }

  func put(_ robots: KnownRobots, of origin: String) {
    thread.put(
      RobotsRecord(text: robots.rules.text, expiresAt: robots.expiresAt), of: origin)
  }

  func extendOriginal(of order: FetchOrder) {
    let key = ContentKey(originalOf: order.name)
    thread.extend([ThumbnailAccess(key: key, retention: order.retention, at: .now)])
  }

  func removePartial(of name: PictureName) {
    thread.removePartial(of: name)
  }

  func sweep(at moment: WallTime) {
    thread.sweep(at: moment)
  }
}
