import ImgModel
import ImgWire

/// From a request to the answer of the store: a line or a viewer waits at an item, a worker looks the item up.
///
/// A URL is looked up as soon as a worker takes it: first the URLs of viewers, the newest first, then the
/// jobs of the highest priority in turn, one line each. Workers answer in any order; the lines that are
/// not in the store go on in the order of their list.
extension Scheduler {
  /// For so long a look-up holds later lines up. A worker that is stopped answers nothing, and is
  /// killed only later (``heartbeatAgeMaximum``).
  static let lookupPatience = Duration.seconds(5)

  mutating func dispatchLookups() {
    var batches = BatchCollector()
    while workers.contains(where: { $0.takesLookups }), let id = nextLookup() {
      let item = work.item(id)
      guard
        let worker = workers.choose(
          digest: item.digest, where: { $0.takesLookups }, load: { $0.lookupCount })
      else { preconditionFailure("a worker takes what is next") }
      let lease = fetches.leases.grant(.lookup, of: id, to: worker, at: now.instant)
      workers.hold(lease, as: .lookup, by: worker)
      if item.waiters.contains(where: { $0.job != nil }) {
        fetches.leases.setLookupDeadline(now.instant + Self.lookupPatience, of: lease)
      }
      let takesStale = mayBeServedStale(item)
      if takesStale { work.change(id) { $0.hasAskedForStale = true } }
      move(id, to: .lookingUp(lease))
      batches.add(
        Lease.Granted(item: work.item(id), lease: lease, worker: worker), takesStale: takesStale)
    }
    effects += batches.messages { .lookup($0) }
    // Lines may have made URLs that wait more urgent.
    reviewSources()
  }

  /// Takes the item to look up next.
  private mutating func nextLookup() -> WorkID? {
    if let id = work.takeLookup() { return id }
    while true {
      let (next, reads) = jobs.nextLine()
      effects += reads
      guard let (job, line) = next else { return nil }
      if let id = takeUp(line, of: job) { return id }
    }
  }

  /// Makes the line of a list wait for its URL.
  ///
  /// - Returns: the item if it is new and needs a look-up; `nil` when the line has joined
  ///   another or is no URL.
  private mutating func takeUp(_ line: QueuedLine, of id: JobID) -> WorkID? {
    guard let terms = jobs.terms(of: id) else { preconditionFailure("\(id) has ended") }
    switch terms.lacksHeaders ? .failure(.lostHeaders) : line.url {
    case .success(let url):
      let waiter = terms.waiter(
        of: id, index: line.index, arrivalTag: jobs.servedTag(at: terms.options.priority))
      let (item, isNew, isMoreUrgent) = addWaiter(waiter, url: url, terms.request)
      if isMoreUrgent { enqueue(item) }
      return isNew ? item : nil
    case .failure(let failure):
      record(.failed(failure), job: id, index: line.index)
      return nil
    }
  }

  // MARK: - Items

  /// Makes `waiter` wait for the URL as the request wants it; it joins the item of equal requests. The caller
  /// puts the item where its urgency belongs.
  ///
  /// - Returns: the item, whether it is new, and whether an older one is more urgent now.
  mutating func addWaiter(
    _ waiter: Waiter, url: ImageURL, _ wanted: SharedRequest
  ) -> (id: WorkID, isNew: Bool, isMoreUrgent: Bool) {
    let shared = wanted.narrowed(to: url)
    let name = shared.request.fetch.name(of: url)
    let subject = WorkItem.Subject(WorkItem.Key(name: name, shared), url)
    if let id = work.openItem(for: subject) { return (id, false, join(waiter, id)) }
    return (add(subject, waiter).id, true, false)
  }

  /// - Returns: whether the item is more urgent now.
  private mutating func join(_ newcomer: Waiter, _ id: WorkID) -> Bool {
    var waiter = newcomer
    // No copy of the item is alive when it changes, so that its list of waiters grows in place.
    guard
      let (needsStartTag, isBegun, numbers, host, updates) = work[id].map({
        (
          $0.competes && $0.isOfLines, $0.isBegun, StageNumbers($0.stage), $0.host,
          waiter.viewer == nil ? nil : $0.updates
        )
      })
    else { preconditionFailure("an open item has not ended") }
    if needsStartTag { jobs.assignStartTag(to: &waiter) }
    if isBegun { waiter.beginTime(at: now.instant) }
    effects += jobs.count([waiter], at: id, host: host, by: numbers, at: now.wall)
    let isMoreUrgent = work.join(waiter, id, defaultExpiry: limits.defaultExpiry)
    noteTimeouts(of: [waiter], at: id)
    // What one is told who joins, the worker tells again to all.
    if waiter.viewer != nil { noteUpdates(of: id, after: waiter.updates.isEmpty ? updates : nil) }
    return isMoreUrgent
  }

  /// Makes an item for the first that waits.
  mutating func add(_ subject: WorkItem.Subject, _ waiter: Waiter) -> WorkItem {
    let item = work.add(subject, waiter)
    effects += jobs.count(
      item.waiters, at: item.id, host: item.host, by: StageNumbers(item.stage), at: now.wall)
    noteTimeouts(of: item.waiters, at: item.id)
    return item
  }

  /// Makes an item wait for a look-up.
  mutating func awaitLookup(_ id: WorkID) {
    if wait(id, in: .awaitingLookup) { work.queueLookup(id) }
  }

  /// The item goes on to a stage, and the jobs whose lines wait count it there.
  mutating func move(_ id: WorkID, to stage: WorkItem.Stage) {
    let former = work.move(id, to: stage, defaultExpiry: limits.defaultExpiry)
    let (waiters, host) = work.read(id) { ($0.waiters, $0.host) }
    effects += jobs.count(
      waiters, at: id, host: host,
      by: StageNumbers(stage) + StageNumbers(former) * -1, at: now.wall)
  }

  // MARK: - Answers

  mutating func lookedUp(_ results: LookupResults, by worker: WorkerID) {
    workers.answered(worker, at: now.instant)
    let stale = Set(results.stale)
    for hit in results.hits {
      guard let id = fetches.end(hit.lease, of: worker, in: &workers, at: now.instant) else {
        continue
      }
      jobs.assignStartTags(to: id, in: &work)
      let served = stale.contains(hit.lease) ? work.item(id) : nil
      let (urgency, isFromCache) = work.read(id) {
        ($0.urgency, !$0.wasFetched || $0.hasAskedForStale)
      }
      jobs.serve(urgency)
      complete(id, with: .done(hit.thumbnail, fromCache: isFromCache, bytesFetched: 0))
      if let served { revalidate(served) }
    }
    for lease in results.originals {
      guard let item = fetches.end(lease, of: worker, in: &workers, at: now.instant) else {
        continue
      }
      awaitDecode(item)
    }
    for lease in results.misses {
      guard let item = fetches.end(lease, of: worker, in: &workers, at: now.instant) else {
        continue
      }
      holdBehindEarlierLines(item)
    }
  }

  /// Look-ups that take too long hold no later lines up.
  mutating func endLookupWaits() {
    for lease in fetches.leases.takeOverdueLookups(at: now.instant) {
      for waiter in work[lease.item]?.waiters ?? [] {
        guard case .line(let job, let index) = waiter.who else { continue }
        jobs.change(job) { $0.endLookup(of: index) }
      }
    }
  }
}

extension Lease.Granted {
  fileprivate var isUrgent: Bool { item.urgency.viewer > 0 }

  /// What the worker is told of a picture that was uploaded; `nil` of any other.
  var upload: Effect? {
    if let body = item.body {
      return .pass(
        body.file,
        .decodeUpload(
          Upload(
            lease: lease, url: item.key.request.bypassesStore ? nil : item.url.text,
            request: item.key.request, retention: item.granted,
            byteCount: body.picture.byteCount, response: body.picture.fields)),
        to: worker)
    }
    return item.picture.map { picture in
      .pass(
        picture.file,
        .decodeUpload(
          Upload(
            lease: lease, url: picture.url, request: item.key.request, retention: item.granted,
            byteCount: picture.byteCount, wantsPixels: picture.wantsPixels)),
        to: worker)
    }
  }
}

/// Gathers assignments into one message for each worker and kind of request.
struct BatchCollector {
  private struct Group {
    let worker: WorkerID
    let request: SharedRequest
    let retention: Retention
    let isUrgent: Bool
    let takesStale: Bool
    var items: [Assignment] = []

    func includes(_ granted: Lease.Granted, takesStale: Bool) -> Bool {
      worker == granted.worker && self.takesStale == takesStale && isUrgent == granted.isUrgent
        && retention == granted.item.granted && request.isEqual(to: granted.item.key.shared)
    }
  }

  private var groups: [Group] = []

  /// - Parameter takesStale: see `Batch.takesStale`.
  mutating func add(_ granted: Lease.Granted, takesStale: Bool = false) {
    let assignment = Assignment(lease: granted.lease, url: granted.item.url.text)
    // Mostly it is the last one.
    if let index = groups.lastIndex(where: { $0.includes(granted, takesStale: takesStale) }) {
      groups[index].items.append(assignment)
    } else {
      groups.append(
        Group(
          worker: granted.worker, request: granted.item.key.shared,
          retention: granted.item.granted, isUrgent: granted.isUrgent, takesStale: takesStale,
          items: [assignment]))
    }
  }

  func messages(_ message: (Batch) -> CoordinatorMessage) -> [Effect] {
    groups.flatMap { group in
      Self.framed(group.items).map { items in
        let batch = Batch(
          group.request.request, retention: group.retention, isUrgent: group.isUrgent, items: items,
          takesStale: group.takesStale)
        return .send(message(batch), to: group.worker)
      }
    }
  }

  /// Cuts a batch so that each part fits a frame whatever its URLs are: JSON may write a byte as
  /// six.
  private static func framed(_ items: [Assignment]) -> [[Assignment]] {
    let byteCountMaximum = Frame.maximumByteCount / 8
    var parts: [[Assignment]] = [[]]
    var byteCount = 0
    for item in items {
      let itemByteCount = item.url.utf8.count + 64
      if byteCount + itemByteCount > byteCountMaximum, !(parts.last ?? []).isEmpty {
        parts.append([])
        byteCount = 0
      }
      parts[parts.count - 1].append(item)
      byteCount += itemByteCount
    }
    return parts
  }
}

/// Pictures that are served stale, as their origins allow (RFC 5861).
///
/// While the origin is asked about one (stale-while-revalidate, section 3), that is an item of no
/// request, after all others; only the store shows its result. Where the origin is known to fail
/// (stale-if-error, section 4), the store is asked once more for the items that wait.
extension Scheduler {
  /// How many may be under way. Beyond it none begins: the next request for the picture begins it.
  package static let revalidationMaximum = 256

  /// Has the origin asked about a hit that was stale, unless that is under way. If it still holds
  /// it is kept for as long as the first request that got it asks.
  mutating func revalidate(_ served: WorkItem) {
    var key = served.key
    key.isRevalidation = true
    let subject = WorkItem.Subject(key, served.url)
    guard !isDraining, work.revalidationCount < Self.revalidationMaximum,
      work.openItem(for: subject) == nil
    else { return }
    let expiry = served.waiters.first?.expiry ?? .standard
    routeMiss(add(subject, Waiter(who: .revalidation, expiry: expiry, priority: .min)).id)
  }

  // MARK: - Origins that fail

  /// Whether a look-up now may be answered with what is stale.
  func mayBeServedStale(_ item: WorkItem) -> Bool {
    item.key.mayBeServedStale
      && fetches.queue.isFailing(item.host, origin: item.url.origin, at: now.instant)
  }

  func isStaleWorthAsking(of item: WorkItem) -> Bool {
    !item.hasAskedForStale && mayBeServedStale(item)
  }

  /// A host has failed once more: items that wait for it may be served stale.
  mutating func offerStale(of host: String) {
    offerStale(of: host, to: fetches.queue.waiting(for: host).sorted())
  }

  /// The same for the items of these sources.
  mutating func offerStale(of host: String, to waiting: [SourceID]) {
    for id in waiting {
      guard let source = fetches.sources[id],
        fetches.queue.isFailing(host, origin: source.key.origin, at: now.instant)
      else { continue }
      let askable = waitingItems(of: source).filter { isStaleWorthAsking(of: $0) }
      guard !askable.isEmpty else { continue }
      askable.forEach { awaitLookup($0.id) }
      fetches.sources.noteChange(of: id)
    }
  }
}
