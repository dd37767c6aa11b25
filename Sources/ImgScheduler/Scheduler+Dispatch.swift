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
    reviewSources()
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
    return fetches.queue.hasSlot && workers.contains { $0.takesFetches(share: share) }
      && nextHeldLine() != nil
  }

  private mutating func dispatchLookups() {
    var batches = BatchCollector()
    while workers.contains(where: { $0.takesLookups }), let id = nextLookup() {
      guard let item = work[id],
        let worker = workers.choose(
          digest: item.digest, where: { $0.takesLookups }, load: { $0.lookupCount })
      else { preconditionFailure("what is next is there, and a worker takes it") }
      let lease = fetches.leases.grantLookup(of: id, to: worker, at: now.instant)
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

  /// - Returns: whether anything has begun.
  @discardableResult
  private mutating func dispatchFetches() -> Bool {
    let share = transferShare
    var batches = BatchCollector()
    var decodes = BatchCollector()
    var begun: [SourceID] = []
    var hasBegun = false
    while isNextTaken(share: share), let next = nextAssignable() {
      hasBegun = true
      effects += fetches.endDisplaced(at: now.instant)
      let isForViewer = next.item.urgency.viewer > 0
      guard let source = next.item.source,
        let worker = workers.choose(
          digest: next.item.digest,
          where: { $0.takesFetches(share: share, isForViewer: isForViewer) },
          load: { $0.fetchCount })
      else { preconditionFailure("what is next is there, and a worker takes it") }
      switch next {
      case .transfer(let item):
        batches.add(beginTransfer(of: item, by: worker))
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
    effects += batches.messages { .fetch($0) } + decodes.messages { .decode($0) }
    // After the fetches to which they are attached.
    begun.forEach { fetches.sources.noteChange(of: $0) }
    reviewSources()
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
  fileprivate var isUrgent: Bool { item.urgency.viewer > 0 }

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
  private struct Group {
    let worker: WorkerID
    let request: ThumbnailRequest
    let retention: Retention
    let isUrgent: Bool
    let takesStale: Bool
    var items: [Assignment] = []

    func includes(_ granted: Lease.Granted, takesStale: Bool) -> Bool {
      worker == granted.worker && self.takesStale == takesStale && isUrgent == granted.isUrgent
        && retention == granted.item.granted && request == granted.item.key.request
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
          worker: granted.worker, request: granted.item.key.request,
          retention: granted.item.granted, isUrgent: granted.isUrgent, takesStale: takesStale,
          items: [assignment]))
    }
  }

  func messages(_ message: (Batch) -> CoordinatorMessage) -> [Effect] {
    groups.flatMap { group in
      Self.framed(group.items).map { items in
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
