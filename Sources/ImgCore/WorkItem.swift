import ImgWire

/// Names a work item; in the order in which they were taken up, never reused.
struct WorkID: Hashable {
  let rawValue: UInt64
}

/// One URL in one variant, and everybody who waits for it: what is looked up, fetched and decoded
/// once however many ask.
struct WorkItem {
  /// Requests with equal keys share one item.
  struct Key: Hashable {
    let url: ImageURL
    let variant: Variant
  }

  enum Waiter: Hashable {
    /// A line of a job's list.
    case line(JobID, index: Int)
    /// Somebody who waits for the picture now.
    case viewer(ViewerID)
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
  /// The longest that any waiter asked for.
  private(set) var expireAfterMilliseconds: Int64
  /// The highest priority of a job that waits or waited.
  private(set) var priority: Int
  private(set) var waiters: [Waiter]
  /// The number of the newest viewer among the waiters; 0 when there is none.
  private var newestViewer: UInt64
  var stage = Stage.awaitingLookup
  /// Whether a fetch was assigned for these waiters: a hit found after a worker's death is then the
  /// result of that fetch, and does not count as found in the cache.
  var wasFetched = false
  /// Workers that crashed while they decoded this picture.
  var crashCount = 0
  /// Workers killed from outside while they decoded this picture.
  var killCount = 0
  /// Workers that crashed outside of a decode while they held this fetch.
  var lossCount = 0

  init(
    id: WorkID, key: Key, waiter: Waiter, expireAfterMilliseconds: Int64, priority: Int
  ) {
    self.id = id
    self.key = key
    self.expireAfterMilliseconds = expireAfterMilliseconds
    self.priority = priority
    waiters = [waiter]
    newestViewer = waiter.viewerNumber
    digest = RendezvousHash.digest(key.url.text)
  }

  /// The newest viewer decides, then the job's priority, then who came first.
  var urgency: Urgency {
    Urgency(viewer: newestViewer, priority: priority, sequence: id.rawValue)
  }

  func isAwaited(by job: JobID) -> Bool {
    waiters.contains { $0.isLine(of: job) }
  }

  mutating func join(_ waiter: Waiter, expireAfterMilliseconds: Int64, priority: Int) {
    waiters.append(waiter)
    newestViewer = max(newestViewer, waiter.viewerNumber)
    self.expireAfterMilliseconds = max(self.expireAfterMilliseconds, expireAfterMilliseconds)
    self.priority = max(self.priority, priority)
  }

  /// - Returns: the waiters that left.
  mutating func leave(where isLeaving: (Waiter) -> Bool) -> [Waiter] {
    let leaving = waiters.filter(isLeaving)
    waiters.removeAll(where: isLeaving)
    newestViewer = waiters.reduce(0) { max($0, $1.viewerNumber) }
    return leaving
  }
}

extension WorkItem.Waiter {
  func isLine(of job: JobID) -> Bool {
    if case .line(job, _) = self { true } else { false }
  }

  /// 0 for who is no viewer.
  fileprivate var viewerNumber: UInt64 {
    if case .viewer(let viewer) = self { viewer.rawValue } else { 0 }
  }
}
