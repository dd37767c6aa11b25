package import ImgModel

/// Names a work item; in the order in which they were taken up, never reused.
package struct WorkID: Hashable {
  package let rawValue: UInt64
}

/// One URL, variant and keep option, and all requests that wait for it. The item is looked up,
/// decoded and stored once however many ask. What is fetched once is the ``Source``.
package struct WorkItem {
  /// Requests with equal keys share one item.
  package struct Key: Hashable {
    package let name: PictureName
    package let request: ThumbnailRequest
    /// Whether its origin is asked about what the store has, for no request. No request shares it, as
    /// each is served at once.
    package var isRevalidation = false

    /// Hashes what differs between most keys. Comparing the rest is cheaper than hashing it.
    package func hash(into hasher: inout Hasher) {
      hasher.combine(name.text)
      hasher.combine(request.variant)
    }

    /// Whether its origin may allow that it is served stale while the origin fails.
    var mayBeServedStale: Bool {
      request.fetch.cachePolicy == .byProtocol && !request.bypassesStore && !isRevalidation
    }
  }

  package enum Stage: Equatable {
    case awaitingLookup
    case lookingUp(LeaseID)
    /// The store does not have it. It waits behind earlier lines of its job, and then for a slot.
    case behindEarlierLines
    case awaitingTransfer
    /// The picture is at hand, be it the original in the store: it waits for a decoder.
    case awaitingDecode
    case transferring(LeaseID)
    /// The last byte is in; the worker decodes and stores.
    case decoding(LeaseID)

    package var lease: LeaseID? {
      switch self {
      case .awaitingLookup, .behindEarlierLines, .awaitingTransfer, .awaitingDecode: nil
      case .lookingUp(let lease), .transferring(let lease), .decoding(let lease): lease
      }
    }
  }

  /// What never changes, in one object, because items are copied often.
  private final class Subject: Sendable {
    let key: Key
    let url: ImageURL
    let digest: UInt64
    let picture: UploadedPicture?

    init(key: Key, url: ImageURL, picture: UploadedPicture?) {
      self.key = key
      self.url = url
      self.picture = picture
      digest = RendezvousHash.digest(key.name.text)
    }
  }

  package let id: WorkID
  private let subject: Subject
  package private(set) var waiters: [Waiter]
  package private(set) var urgency: Urgency
  package private(set) var stage = Stage.awaitingLookup
  /// What it shares with the other variants of its URL; `nil` until a look-up has missed.
  package internal(set) var source: SourceID?
  /// Whether a fetch or a decode was assigned for these waiters: the thumbnail is made for them, and
  /// a hit found after a worker's death is its result, and does not count as found in the cache.
  private(set) var wasFetched = false
  /// Whether the store was asked since then for what may be served while the origin fails.
  var hasAskedForStale = false
  /// What the worker that has the lease was told, for all requests that waited when it began.
  private(set) var granted = Retention()
  /// Bytes of bodies that no outcome has reported yet.
  var unreportedByteCount = 0
  /// Viewers that left or moved on while a result was on its way.
  var departedViewerCount = 0

  init(id: WorkID, key: Key, url: ImageURL, waiter: Waiter, picture: UploadedPicture? = nil) {
    self.id = id
    subject = Subject(key: key, url: url, picture: picture)
    waiters = [waiter]
    urgency = Urgency(of: waiter, item: id)
  }

  package var key: Key { subject.key }
  package var url: ImageURL { subject.url }
  /// See ``RendezvousHash/digest(_:)``.
  var digest: UInt64 { subject.digest }
  /// What was uploaded; then nothing is looked up or fetched, and no request joins.
  package var picture: UploadedPicture? { subject.picture }
  package var host: String { url.host }

  /// The jobs that wait for it.
  package var jobs: [JobID] { Set(waiters.compactMap(\.job)).sorted() }

  mutating func join(_ newcomer: Waiter, defaultExpiry: Duration) {
    var waiter = newcomer
    waiter.isLate =
      stage.lease != nil && !granted.covers(retention(of: waiter, defaultExpiry))
    waiters.append(waiter)
    urgency = min(urgency, Urgency(of: waiter, item: id))
  }

  /// What viewers are told while it arrives.
  var updates: ArrivalUpdates { waiters.reduce(into: []) { $0.formUnion($1.updates) } }

  /// Whether only lines wait for it.
  package var isOfLines: Bool { waiters.allSatisfy { $0.job != nil } }

  /// Whether one of its lines has no start tag yet.
  package var lacksStartTags: Bool { waiters.contains { $0.job != nil && $0.startTag == 0 } }

  /// Whether one of its lines has a start tag.
  var hasStartTag: Bool { waiters.contains { $0.startTag > 0 } }

  /// Whether its look-up is over and its lines have start tags.
  var competes: Bool {
    switch stage {
    case .awaitingLookup, .lookingUp, .behindEarlierLines: false
    case .awaitingTransfer, .awaitingDecode, .transferring, .decoding: true
    }
  }

  /// It is being fetched, or decoded.
  mutating func noteFetch() {
    wasFetched = true
    hasAskedForStale = false
  }

  /// It goes on to another stage.
  mutating func enter(_ next: Stage, defaultExpiry: Duration) {
    if stage.lease == nil, next.lease != nil {
      grantRetention(defaultExpiry: defaultExpiry)
    }
    stage = next
  }

  /// A lease begins: its worker is told what all waiting requests ask for.
  private mutating func grantRetention(defaultExpiry: Duration) {
    granted = Retention()
    for index in waiters.indices {
      granted.formUnion(retention(of: waiters[index], defaultExpiry))
      waiters[index].isLate = false
    }
  }

  /// What is found when nothing was fetched for the waiters was stored before they came.
  private func retention(of waiter: Waiter, _ defaultExpiry: Duration) -> Retention {
    var retention =
      wasFetched
      ? waiter.expiry.retention(defaultExpiry: defaultExpiry)
      : waiter.expiry.retentionOfStored(defaultExpiry: defaultExpiry)
    if waiter.isPinning, let job = waiter.job { retention.formUnion(Retention(pins: [job])) }
    return retention
  }

  /// - Returns: the waiters that left.
  mutating func remove(where isLeaving: (Waiter) -> Bool) -> [Waiter] {
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

  /// An outcome reports the bytes of bodies.
  mutating func takeUnreportedByteCount() -> Int {
    defer { unreportedByteCount = 0 }
    return unreportedByteCount
  }

  /// What a thumbnail takes off an item.
  struct Departure {
    /// The waiters that the thumbnail serves: all but the late ones.
    let served: [Waiter]
    /// Bytes of bodies to report to them.
    let bytesFetched: Int
    /// Viewers that left or moved on while the thumbnail was on its way.
    let departedViewerCount: Int
  }

  /// The thumbnail is there.
  ///
  /// - Parameter byteCount: bytes of bodies fetched for it.
  mutating func serve(bytesFetched byteCount: Int) -> Departure {
    unreportedByteCount += byteCount
    let departure = Departure(
      served: remove { !$0.isLate }, bytesFetched: unreportedByteCount,
      departedViewerCount: departedViewerCount)
    departedViewerCount = 0
    if !departure.served.isEmpty { unreportedByteCount = 0 }
    return departure
  }

  /// The most urgent waiter counts.
  private mutating func updateUrgency() {
    urgency = waiters.map { Urgency(of: $0, item: id) }.min() ?? urgency
  }
}
