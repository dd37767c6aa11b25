import ImgModel
import ImgWire

/// Assigning work: called after every event, does all that the limits permit at that moment.
/// The order of URLs is in `NextURL.swift`. ``WorkerTable/choose(digest:where:load:)`` chooses the
/// worker.
extension Scheduler {
  /// Outcomes that may wait for the journal. Beyond it nothing starts, so that a journal that
  /// cannot write (a full disk) holds the work up instead of filling the memory.
  package static let unrecordedMaximum = 16_384
  /// For so long a look-up holds later lines up. A worker that is stopped answers nothing, and is
  /// killed only later (``heartbeatAgeMaximum``).
  static let lookupPatience = Duration.seconds(5)

  mutating func dispatch() {
    // They have begun, so that they go on during a drain, too.
    dispatchRedirected()
    guard !isDraining else { return reportDrainedWhenDone() }
    guard jobs.unrecordedCount < Self.unrecordedMaximum else { return }
    // Transfers first: they make room for lines.
    dispatchFetches()
    dispatchLookups()
    // A line that was just taken up may join an item whose other line waits behind lines of another
    // job. That item may start now.
    while isHeldLineStartable, dispatchFetches() { dispatchLookups() }
  }

  /// Whether a line that waits behind others may begin at once.
  private var isHeldLineStartable: Bool {
    let share = transferShare
    return transferQueue.hasSlot && workers.contains { $0.takesFetches(share: share) }
      && nextHeldLine() != nil
  }

  private mutating func dispatchLookups() {
    var batches = BatchCollector()
    while workers.contains(where: { $0.takesLookups }), let id = nextLookup() {
      guard let item = work[id],
        let worker = workers.choose(
          digest: item.digest, where: { $0.takesLookups }, load: { $0.lookups.count })
      else { preconditionFailure("what is next is there, and a worker takes it") }
      let lease = leases.grantLookup(of: id, to: worker, at: now.instant)
      workers.hold(lease, as: .lookup, by: worker)
      if item.waiters.contains(where: { $0.job != nil }) {
        leases.setLookupDeadline(now.instant + Self.lookupPatience, of: lease)
      }
      let takesStale = mayBeServedStale(item)
      if takesStale { work.change(id) { $0.hasAskedForStale = true } }
      move(id, to: .lookingUp(lease))
      batches.add(
        Lease.Granted(item: work.item(id), lease: lease, worker: worker), takesStale: takesStale)
    }
    effects += batches.messages { .lookup($0) }
  }

  /// - Returns: whether anything has begun.
  @discardableResult
  private mutating func dispatchFetches() -> Bool {
    let share = transferShare
    var fetches = BatchCollector()
    var decodes = BatchCollector()
    var begun: [SourceID] = []
    var hasBegun = false
    while isNextTaken(share: share), let next = nextAssignable() {
      hasBegun = true
      endDisplaced()
      let isForViewer = next.item.urgency.viewer > 0
      guard let source = next.item.source,
        let worker = workers.choose(
          digest: next.item.digest,
          where: { $0.takesFetches(share: share, isForViewer: isForViewer) },
          load: { $0.fetches.count })
      else { preconditionFailure("what is next is there, and a worker takes it") }
      switch next {
      case .transfer(let item):
        fetches.add(beginTransfer(of: item, by: worker))
        begun.append(source)
      case .decode(let item):
        let granted = beginDecode(of: item, by: worker)
        if let upload = granted.upload {
          effects.append(upload)
        } else {
          decodes.add(granted)
        }
      }
    }
    effects += fetches.messages { .fetch($0) } + decodes.messages { .decode($0) }
    // After the fetches to which they are attached.
    begun.forEach { reviewNow($0) }
    return hasBegun
  }

  /// Whether a worker takes what is next, if there is anything.
  private func isNextTaken(share: Int) -> Bool {
    workers.contains { $0.takesFetches(share: share) }
      || isNextForViewer && workers.contains { $0.takesFetches(share: share, isForViewer: true) }
  }

  /// Each worker's share of the cluster's transfers; a few at least, so that a worker to which a
  /// list's URLs belong by chance can take them.
  package var transferShare: Int {
    max((limits.transfers + limits.workers - 1) / limits.workers, 8)
  }
}

extension Lease.Granted {
  /// What the worker is told of a picture that was uploaded; `nil` of any other.
  fileprivate var upload: Effect? {
    item.picture.map { picture in
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
  private struct Group: Hashable {
    let worker: WorkerID
    let request: ThumbnailRequest
    let retention: Retention
    let isUrgent: Bool
    let takesStale: Bool

    /// The requests of most groups are equal. Comparing them is cheaper than hashing them.
    func hash(into hasher: inout Hasher) {
      hasher.combine(worker)
      hasher.combine(request.variant.width << 16 | request.variant.height)
    }
  }

  private var groups: [Group: [Assignment]] = [:]
  private var order: [Group] = []

  /// - Parameter takesStale: see `Batch.takesStale`.
  mutating func add(_ granted: Lease.Granted, takesStale: Bool = false) {
    let group = Group(
      worker: granted.worker, request: granted.item.key.request, retention: granted.item.granted,
      isUrgent: granted.item.urgency.viewer > 0, takesStale: takesStale)
    let assignment = Assignment(lease: granted.lease, url: granted.item.url.text)
    if let index = groups.index(forKey: group) {
      groups.values[index].append(assignment)
    } else {
      groups[group] = [assignment]
      order.append(group)
    }
  }

  func messages(_ message: (Batch) -> CoordinatorMessage) -> [Effect] {
    order.flatMap { group in
      Self.framed(groups[group, default: []]).map { items in
        let batch = Batch(
          group.request, retention: group.retention, isUrgent: group.isUrgent, items: items,
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

/// Transfers and the leases attached to them, and decodes.
extension Scheduler {
  /// The item's lease begins a transfer, whose slots have been taken.
  mutating func beginTransfer(of waiting: WorkItem, by worker: WorkerID) -> Lease.Granted {
    guard let source = waiting.source else {
      preconditionFailure("what waits for a transfer has a source")
    }
    serve(waiting.urgency)
    let lease = leases.grantTransfer(of: waiting.id, to: worker, at: now.instant)
    let transfer = transfers.begin(
      of: source, by: worker, host: waiting.host, origin: waiting.url.origin, lease: lease)
    sources.begin(transfer, of: source)
    workers.hold(lease, as: .transfer, by: worker)
    return grant(lease, to: worker, for: waiting.id, stage: .transferring(lease))
  }

  /// The item's lease begins the decode of a picture that is on the machine. No other item joins:
  /// each variant finds an original by its own look-up.
  mutating func beginDecode(of waiting: WorkItem, by worker: WorkerID) -> Lease.Granted {
    serve(waiting.urgency)
    let lease = leases.grantDecode(of: waiting.id, to: worker, at: now.instant)
    workers.hold(lease, as: .decode, by: worker)
    return grant(lease, to: worker, for: waiting.id, stage: .decoding(lease))
  }

  private mutating func grant(
    _ lease: LeaseID, to worker: WorkerID, for id: WorkID, stage: WorkItem.Stage
  ) -> Lease.Granted {
    work.change(id) { $0.noteFetch() }
    move(id, to: stage)
    let item = work.item(id)
    noteUpdates(item.updates, of: id)
    return Lease.Granted(item: item, lease: lease, worker: worker)
  }

  /// The item is attached to a transfer, without a slot of its own, if its worker takes one more
  /// lease; else it waits until one of the transfer's leases has ended.
  mutating func attach(_ waiting: WorkItem, to id: TransferID) {
    guard let transfer = transfers[id], !isDraining,
      workers[transfer.worker]?.takesFetchLeases == true
    else { return }
    let worker = transfer.worker
    let isBodyIn = transfer.state == .ended
    serve(waiting.urgency)
    let lease = leases.grantAttached(of: waiting.id, to: id, by: worker, at: now.instant)
    transfers.attach(lease, to: id)
    workers.hold(lease, as: isBodyIn ? .decode : .attached, by: worker)
    let granted = grant(
      lease, to: worker, for: waiting.id, stage: isBodyIn ? .decoding(lease) : .transferring(lease))
    if transfer.isWaitingAfterRedirect { queueRedirected(id) }
    var batches = BatchCollector()
    batches.add(granted)
    effects += batches.messages { .attach($0) }
  }

  /// The last byte is in: other URLs may use the slots, and all leases wait for the decoder, also
  /// those that the worker did not know of when it said so.
  ///
  /// - Precondition: the transfer is receiving.
  mutating func endReceiving(_ id: TransferID) {
    guard let transfer = transfers[id] else { preconditionFailure("\(id) is over") }
    transfers.end(id)
    transferQueue.release(id, of: transfer.source, host: transfer.host, at: now.instant)
    if let source = sources[transfer.source] {
      sources.forgetFailure(of: .init(name: source.key.name))
    }
    for lease in transfer.leases {
      guard let held = leases[lease] else {
        preconditionFailure("\(id) has a lease that has ended")
      }
      leases.enterStage(lease, at: now.instant)
      workers.bodyArrived(for: lease, at: transfer.worker)
      move(held.item, to: .decoding(lease))
    }
  }

  /// No item may join the transfer from now on; those that wait get one of their own.
  mutating func stopJoining(_ id: TransferID) {
    if let transfer = transfers[id] { sources.endJoining(id, of: transfer.source) }
  }

  /// A transfer whose leases all belong to aborted items cannot be joined.
  mutating func stopJoiningAborted(_ id: TransferID) {
    let isAborted = transfers[id]?.leases.allSatisfy { lease in
      leases[lease].flatMap { work[$0.item] }?.waiters.isEmpty ?? true
    }
    if isAborted == true { stopJoining(id) }
  }

  // MARK: - The end of leases

  /// Ends a lease that its worker has answered.
  ///
  /// - Returns: the item; `nil` when the lease is not the worker's any more: the answer is late.
  mutating func endLease(_ id: LeaseID, of worker: WorkerID) -> WorkID? {
    guard let lease = leases.end(id, of: worker) else { return nil }
    workers.release(id, of: worker)
    return itemReleased(by: lease, id)
  }

  /// Ends a lease of a worker that has exited.
  ///
  /// - Precondition: the worker held the lease when it exited.
  mutating func endLease(_ id: LeaseID, ofExited worker: WorkerID) -> WorkID {
    guard let lease = leases.end(id, of: worker) else {
      preconditionFailure("\(id) was not held by \(worker)")
    }
    return itemReleased(by: lease, id)
  }

  /// The item of a lease that has ended, which is detached from its transfer.
  private mutating func itemReleased(by lease: Lease, _ id: LeaseID) -> WorkID {
    precondition(work[lease.item] != nil, "\(id) outlives its item")
    if let transfer = lease.transfer { detach(id, from: transfer) }
    reviewSources()
    return lease.item
  }

  /// One of its leases has ended. The last one ends the transfer, and gives its slots back.
  private mutating func detach(_ lease: LeaseID, from id: TransferID) {
    guard let source = transfers[id]?.source else { preconditionFailure("\(id) is over") }
    guard let transfer = transfers.detach(lease, from: id) else {
      return sources.noteChange(of: source)
    }
    switch transfer.state {
    case .receiving:
      transferQueue.release(id, of: source, host: transfer.host, at: now.instant)
    case .redirected(let redirectingHost), .refused(let redirectingHost, _):
      transferQueue.remove(redirected: id, host: transfer.host, at: now.instant)
      transferQueue.endRedirect(from: redirectingHost, at: now.instant)
    case .ended: break
    }
    sources.endJoining(id, of: source)
  }
}
