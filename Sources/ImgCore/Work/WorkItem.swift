import ImgModel

/// Names a work item; in the order in which they were taken up, never reused.
struct WorkID: Hashable {
  let rawValue: UInt64
}

/// One URL in one variant, of which the same is to be kept, and everybody who waits for it: what is
/// looked up, decoded and stored once however many ask. What is fetched once is the ``Source``.
struct WorkItem {
  /// Requests with equal keys share one item.
  struct Key: Hashable {
    let name: PictureName
    let request: ThumbnailRequest
    /// Whether its origin is asked about what the store has, for nobody: then nobody shares it, as
    /// whoever asks is served at once.
    var isRevalidation = false

    /// Whether its origin may allow that it is given out stale while the origin fails.
    var mayBeServedStale: Bool {
      request.fetch.cachePolicy == .byProtocol && !request.bypassesStore && !isRevalidation
    }
  }

  enum Stage: Equatable {
    case awaitingLookup
    case lookingUp(LeaseID)
    /// The store has not got it. It waits for a slot, behind earlier lines of its job.
    case missed
    case awaitingTransfer
    /// The picture is at hand, be it the original in the store: it waits for a decoder.
    case awaitingDecode
    case transferring(LeaseID)
    /// The last byte is in; the worker decodes and stores.
    case decoding(LeaseID)

    var lease: LeaseID? {
      switch self {
      case .awaitingLookup, .missed, .awaitingTransfer, .awaitingDecode: nil
      case .lookingUp(let lease), .transferring(let lease), .decoding(let lease): lease
      }
    }
  }

  let id: WorkID
  let key: Key
  let url: ImageURL
  /// See ``RendezvousHash/digest(_:)``.
  let digest: UInt64
  /// What was uploaded; then nothing is looked up or fetched, and nobody joins.
  let picture: UploadedPicture?
  private(set) var waiters: [Waiter]
  private(set) var urgency: Urgency
  var stage = Stage.awaitingLookup
  /// What it shares with the other variants of its URL; `nil` until a look-up has missed.
  var source: SourceID?
  /// Whether a fetch or a decode was assigned for these waiters: the thumbnail is made for them, and
  /// a hit found after a worker's death is its result, and does not count as found in the cache.
  private(set) var wasFetched = false
  /// Whether the store was asked since then for what may be given out while the origin fails.
  var hasAskedForStale = false
  /// What the worker that has the lease was told, for all who waited when the lease began.
  private(set) var granted = Retention()
  /// Bytes of bodies that no outcome has told of yet.
  var untoldByteCount = 0
  /// Viewers that left or moved on while a result was on its way.
  var departedViewerCount = 0

  init(id: WorkID, key: Key, url: ImageURL, waiter: Waiter, picture: UploadedPicture? = nil) {
    self.id = id
    self.key = key
    self.url = url
    self.picture = picture
    waiters = [waiter]
    urgency = Urgency(of: waiter, item: id)
    digest = RendezvousHash.digest(key.name.text)
  }

  var host: String { url.host }

  /// The jobs that wait for it.
  var jobs: [JobID] { Set(waiters.compactMap(\.job)).sorted() }

  mutating func join(_ newcomer: Waiter, defaultExpiryMilliseconds: Int64) {
    var waiter = newcomer
    waiter.isLate =
      stage.lease != nil && !granted.covers(retention(of: waiter, defaultExpiryMilliseconds))
    waiters.append(waiter)
    urgency = min(urgency, Urgency(of: waiter, item: id))
  }

  /// Whether only lines wait for it.
  var isOfLines: Bool { waiters.allSatisfy { $0.job != nil } }

  /// Whether its lines have no turns for what comes next.
  var lacksTurns: Bool { waiters.contains { $0.job != nil && $0.turn == 0 } }

  /// Whether its look-up is over: its lines have turns for what comes next.
  var competes: Bool {
    switch stage {
    case .awaitingLookup, .lookingUp, .missed: false
    case .awaitingTransfer, .awaitingDecode, .transferring, .decoding: true
    }
  }

  /// It is being fetched, or decoded.
  mutating func noteFetch() {
    wasFetched = true
    hasAskedForStale = false
  }

  /// A lease begins: its worker is told what all ask for who wait at this moment.
  mutating func grantRetention(defaultExpiryMilliseconds: Int64) {
    granted = Retention()
    for index in waiters.indices {
      granted.formUnion(retention(of: waiters[index], defaultExpiryMilliseconds))
      waiters[index].isLate = false
    }
  }

  /// What is found when nothing was fetched for those who wait was stored before they came.
  private func retention(of waiter: Waiter, _ defaultMilliseconds: Int64) -> Retention {
    wasFetched
      ? waiter.expiry.retention(defaultMilliseconds: defaultMilliseconds)
      : waiter.expiry.retentionOfStored(defaultMilliseconds: defaultMilliseconds)
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
