import ImgWire

/// Names a work item; in the order in which they were taken up, never reused.
struct WorkID: Hashable {
  let rawValue: UInt64
}

/// One URL in one variant, and everybody who waits for it: what is looked up, decoded and stored
/// once however many ask. What is fetched once is the ``Source``.
struct WorkItem {
  /// Requests with equal keys share one item.
  struct Key: Hashable {
    let url: ImageURL
    let variant: Variant
  }

  enum Stage: Equatable {
    case awaitingLookup
    case lookingUp(LeaseID)
    case awaitingTransfer
    case transferring(LeaseID)
    /// The last byte is in; the worker decodes and stores.
    case decoding(LeaseID)

    var lease: LeaseID? {
      switch self {
      case .awaitingLookup, .awaitingTransfer: nil
      case .lookingUp(let lease), .transferring(let lease), .decoding(let lease): lease
      }
    }
  }

  let id: WorkID
  let key: Key
  /// See ``RendezvousHash/digest(_:)``.
  let digest: UInt64
  private(set) var waiters: [Waiter]
  private(set) var urgency: Urgency
  var stage = Stage.awaitingLookup
  /// What it shares with the other variants of its URL; `nil` until a look-up has missed.
  var source: SourceID?
  /// Whether a fetch was assigned for these waiters: a hit found after a worker's death is then the
  /// result of that fetch, and does not count as found in the cache.
  var wasFetched = false
  /// Viewers that left or moved on while a result was on its way.
  var departedViewerCount = 0

  init(id: WorkID, key: Key, waiter: Waiter) {
    self.id = id
    self.key = key
    waiters = [waiter]
    urgency = Urgency(of: waiter, item: id)
    digest = RendezvousHash.digest(key.url.text)
  }

  var host: String { key.url.host }

  /// The jobs that wait for it.
  var jobs: [JobID] { Set(waiters.compactMap(\.job)).sorted() }

  /// The longest that any waiter asked for.
  var expireAfterMilliseconds: Int64 {
    waiters.reduce(1) { max($0, $1.expireAfterMilliseconds) }
  }

  mutating func join(_ waiter: Waiter) {
    waiters.append(waiter)
    urgency = min(urgency, Urgency(of: waiter, item: id))
  }

  /// - Returns: the waiters that left.
  mutating func leave(where isLeaving: (Waiter) -> Bool) -> [Waiter] {
    let leaving = waiters.filter(isLeaving)
    guard !leaving.isEmpty else { return [] }
    waiters.removeAll(where: isLeaving)
    updateUrgency()
    return leaving
  }

  mutating func changeWaiters(_ change: (inout Waiter) -> Void) {
    for index in waiters.indices { change(&waiters[index]) }
    updateUrgency()
  }

  /// The strongest of those who wait counts.
  private mutating func updateUrgency() {
    urgency = waiters.map { Urgency(of: $0, item: id) }.min() ?? urgency
  }
}
