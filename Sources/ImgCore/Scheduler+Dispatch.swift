import ImgModel
import ImgWire

/// Giving out work: called after every event, does all that the limits permit at that moment.
/// What is next is chosen in `NextURL.swift`, the worker by ``worker(for:where:load:)``.
extension Scheduler {
  /// Outcomes that may wait for the journal. Beyond it nothing starts, so that a journal that
  /// cannot write (a full disk) holds the work up instead of filling the memory.
  static let unrecordedMaximum = 16_384

  mutating func dispatch() {
    // They have begun, so that they go on during a drain, too.
    dispatchRedirected()
    guard !isDraining else { return reportDrainedWhenDone() }
    guard unrecordedCount < Self.unrecordedMaximum else { return }
    // Transfers first: they make room for lines.
    dispatchFetches()
    dispatchLookups()
  }

  private mutating func dispatchLookups() {
    var batches = BatchCollector()
    while workers.values.contains(where: \.takesLookups), let id = nextLookup() {
      guard var item = items[id],
        let worker = worker(for: item, where: \.takesLookups, load: \.lookups.count)
      else { preconditionFailure("what is next is there, and somebody takes it") }
      let lease = grantLease(to: worker, for: id, transfer: nil)
      if item.waiters.contains(where: { $0.job != nil }) {
        lookupDeadlines.set(lease, to: now.instant + Self.lookupPatience)
      }
      let takesStale = mayBeServedStale(item)
      if takesStale { item.hasAskedForStale = true }
      move(&item, to: .lookingUp(lease))
      batches.add(
        Lease.Granted(item: item, lease: lease, worker: worker), takesStale: takesStale)
    }
    effects += batches.messages { .lookup($0) }
  }

  private mutating func dispatchFetches() {
    let share = transferShare
    var fetches = BatchCollector()
    var decodes = BatchCollector()
    var begun: [SourceID] = []
    while workers.values.contains(where: { $0.takesFetches(share: share) }),
      let next = nextAssignable()
    {
      guard let source = next.item.source,
        let worker = worker(
          for: next.item, where: { $0.takesFetches(share: share) }, load: \.fetches.count)
      else { preconditionFailure("what is next is there, and somebody takes it") }
      switch next {
      case .transfer(let item):
        fetches.add(beginTransfer(of: item, by: worker))
        begun.append(source)
      case .decode(let item):
        let granted = beginDecode(of: item, by: worker)
        if let passing = granted.passing {
          effects.append(passing)
        } else {
          decodes.add(granted)
        }
      }
    }
    effects += fetches.messages { .fetch($0) } + decodes.messages { .attach($0) }
    // After the fetches on which they ride.
    begun.forEach { reviewNow($0) }
  }

  /// Each worker's share of the cluster's transfers; a few at least, so that a worker to which a
  /// list's URLs belong by chance can take them.
  var transferShare: Int {
    max((limits.transfers + limits.workers - 1) / limits.workers, 8)
  }

  /// How much more the URL's own worker may hold than the idlest before the idlest takes the URL.
  private static let stealingThreshold = 4

  /// The URL's own worker by rendezvous hashing, unless it takes no more or another is clearly
  /// idler.
  private func worker(
    for item: WorkItem, where takesMore: (ReadyWorker) -> Bool, load: (ReadyWorker) -> Int
  ) -> WorkerID? {
    let own = workers.values.max {
      let left = RendezvousHash.weight(digest: item.digest, slot: $0.slot)
      let right = RendezvousHash.weight(digest: item.digest, slot: $1.slot)
      return (left, $0.id) < (right, $1.id)
    }
    let idlest = workers.values.filter(takesMore).min {
      (load($0), $0.id) < (load($1), $1.id)
    }
    guard let own, let idlest else { return nil }
    let isOwnTaken = takesMore(own) && load(own) <= load(idlest) + Self.stealingThreshold
    return isOwnTaken ? own.id : idlest.id
  }
}
