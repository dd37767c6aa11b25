package import ImgModel

/// Names an explicit command of a person that may override a circuit breaker; a later one has a
/// higher number.
package typealias CommandID = Identifier<IdentifierKind.Command>

/// A request that waits for a picture in one variant.
package struct Waiter {
  package enum Who: Hashable {
    /// A line of a job's list.
    case line(JobID, index: Int)
    /// A client that waits for the picture now.
    case viewer(ViewerID)
    /// No request waits: the origin is asked about a picture that was served stale.
    case revalidation
  }

  package let who: Who
  /// When the thumbnail expires.
  let expiry: Expiry
  /// Its job, if that pins the thumbnail.
  var pins: [JobID] = []
  /// See `RequestOptions.priority` in ImgModel. Every viewer goes before all jobs.
  var priority = 0
  /// Orders the line among all jobs of its priority, see ``Urgency/startTag``; 0 until its look-up
  /// is over.
  var startTag: UInt64 = 0
  /// The highest start tag that was served when the line was taken up.
  var arrivalTag: UInt64 = 0
  /// The explicit command that it is part of: a `get`, or a `retry` of its job; `nil` of any other
  /// line.
  var command: CommandID?
  /// What a viewer is told while the picture arrives.
  var updates = ArrivalUpdates(rawValue: 0)
  /// A viewer does not wait for a host that has asked for a longer pause; `nil` for a waiter that does.
  package var maximumRetryAfter: Duration?
  /// Whether a viewer's client can fetch the picture by itself, see `GetRequest.offersFetch`.
  package var offersFetch = false
  /// How long it waits, see `RequestOptions.timeout`.
  var timeout: Duration?
  /// See `RequestOptions.hostRatePerMinute`.
  var hostRatePerMinute = 0
  /// See `RequestOptions.attempts`.
  var attempts: Int?
  /// When it has waited so long; `nil` without a timeout, and of a line that is neither fetched nor decoded yet.
  package var timesOutAt: Instant?
  /// The first bytes of the picture that the viewer was shown.
  var shownByteCount = 0
  /// The bytes of the picture that the viewer was told have arrived.
  var reportedByteCount = 0
  /// Whether it came when the item's lease had begun, and wants the thumbnail kept for longer than
  /// the worker was told.
  var isLate = false

  /// Whether its time is limited and has not begun.
  package var isUntimed: Bool { timeout != nil && timesOutAt == nil }

  /// Its time begins, if it is limited and has not begun before.
  mutating func beginTime(at now: Instant) {
    if let timeout, timesOutAt == nil { timesOutAt = now + timeout }
  }

  var isPinning: Bool { !pins.isEmpty }

  func isLine(of job: JobID) -> Bool { self.job == job }

  package var job: JobID? {
    if case .line(let job, _) = who { job } else { nil }
  }

  /// Of a line, in its job's list.
  var index: Int? {
    if case .line(_, let index) = who { index } else { nil }
  }

  package var viewer: ViewerID? {
    if case .viewer(let viewer) = who { viewer } else { nil }
  }
}

/// Names a work item; in the order in which they were taken up, never reused.
package typealias WorkID = Identifier<IdentifierKind.Work>

/// One URL, variant and keep option, and all requests that wait for it. The item is looked up,
/// decoded and stored once however many ask. What is fetched once is the ``Source``.
package struct WorkItem {
  /// Requests whose keys join each other share one item.
  package struct Key {
    package let name: PictureName
    let shared: SharedRequest
    /// Whether its origin is asked about what the store has, for no request. No request shares it, as
    /// each is served at once.
    package var isRevalidation = false

    package init(name: PictureName, request: ThumbnailRequest, isRevalidation: Bool = false) {
      self.init(name: name, SharedRequest(request))
      self.isRevalidation = isRevalidation
    }

    init(name: PictureName, _ shared: SharedRequest) {
      self.name = name
      self.shared = shared
    }

    package var request: ThumbnailRequest { shared.request }

    /// Whether a request with this key shares the item of the other one.
    func joins(_ other: Self) -> Bool {
      guard name == other.name, isRevalidation == other.isRevalidation else { return false }
      return isRevalidation ? shared.isEqual(to: other.shared) : shared.joins(other.shared)
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
    /// The store does not have it. It waits until a client has read its file.
    case awaitingFile
    /// The picture is at hand, be it the original in the store: it waits for a decoder.
    case awaitingDecode
    case transferring(LeaseID)
    /// The last byte is in; the worker decodes and stores.
    case decoding(LeaseID)

    package var lease: LeaseID? {
      switch self {
      case .awaitingLookup, .behindEarlierLines, .awaitingTransfer, .awaitingFile, .awaitingDecode:
        nil
      case .lookingUp(let lease), .transferring(let lease), .decoding(let lease): lease
      }
    }
  }

  /// What never changes, in one object, because items are copied often. Subjects are equal if their keys join
  /// each other.
  final class Subject: Hashable, Sendable {
    let key: Key
    let url: ImageURL
    let digest: UInt64
    let picture: UploadedPicture?
    /// Of what differs between most keys. Comparing the rest is cheaper than hashing it.
    private let hash: Int

    init(_ key: Key, _ url: ImageURL, picture: UploadedPicture? = nil) {
      self.key = key
      self.url = url
      self.picture = picture
      digest = RendezvousHash.digest(key.name.text)
      var hasher = Hasher()
      hasher.combine(key.name.text)
      hasher.combine(key.shared.request.variant.value.width)
      hasher.combine(key.shared.request.variant.value.height)
      hash = hasher.finalize()
    }

    static func == (left: Subject, right: Subject) -> Bool {
      left === right || left.hash == right.hash && left.key.joins(right.key)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  package let id: WorkID
  let subject: Subject
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
  /// The picture that a client has fetched or read for it; `nil` where none has.
  package internal(set) var body: FetchedBody?
  /// Bytes of bodies that no outcome has reported yet.
  var unreportedByteCount = 0
  /// Viewers that left or moved on while a result was on its way.
  var departedViewerCount = 0

  init(id: WorkID, _ subject: Subject, waiter: Waiter) {
    self.id = id
    self.subject = subject
    waiters = [waiter]
    urgency = Urgency(
      of: waiter, item: id, respectsRobots: subject.key.request.fetch.respectsRobots)
  }

  package var key: Key { subject.key }
  package var url: ImageURL { subject.url }
  /// See ``RendezvousHash/digest(_:)``.
  var digest: UInt64 { subject.digest }
  /// What was uploaded; then nothing is looked up or fetched, and no request joins.
  package var picture: UploadedPicture? { subject.picture }
  package var host: String { url.host }
  /// Whether what a client has fetched serves it. A request that respects what the origin says of robots, or limits
  /// where redirects lead, cannot know that of another's fetch.
  package var takesClientFetches: Bool {
    let fetch = key.request.fetch
    return key.request.keep.part.isWhole && !url.isLocal && !key.isRevalidation
      && !fetch.respectsRobots
      && !fetch.respectsOptOut && fetch.redirectOrigins == .all
  }

  /// The jobs that wait for it.
  package var jobs: [JobID] {
    if waiters.count == 1 { return waiters[0].job.map { [$0] } ?? [] }
    return Set(waiters.compactMap(\.job)).sorted()
  }

  /// Whether no job waits for it.
  var isOfNoJob: Bool { waiters.allSatisfy { $0.job == nil } }

  mutating func join(_ newcomer: Waiter, defaultExpiry: Duration) {
    var waiter = newcomer
    waiter.isLate = stage.lease != nil && !granted.covers(retention(of: waiter, defaultExpiry))
    waiters.append(waiter)
    urgency = min(urgency, urgency(of: waiter))
  }

  /// What viewers are told while it arrives; `nil` if none waits for it.
  var updates: ArrivalUpdates? {
    urgency.viewer > 0 ? waiters.reduce(into: []) { $0.formUnion($1.updates) } : nil
  }

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
    case .awaitingTransfer, .awaitingFile, .awaitingDecode, .transferring, .decoding: true
    }
  }

  /// Whether a worker fetches or decodes it.
  package var isBegun: Bool {
    switch stage {
    case .transferring, .decoding: true
    case .awaitingLookup, .lookingUp, .behindEarlierLines, .awaitingTransfer, .awaitingFile,
      .awaitingDecode:
      false
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
    if waiter.isPinning { retention.formUnion(Retention(pins: waiter.pins)) }
    return retention
  }

  /// - Returns: the waiters that left.
  mutating func remove(where isLeaving: (Waiter) -> Bool) -> [Waiter] {
    if waiters.allSatisfy(isLeaving) {
      defer { waiters = [] }
      return waiters
    }
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
    guard let first = waiters.first else { return }
    urgency = waiters.dropFirst().reduce(urgency(of: first)) { min($0, urgency(of: $1)) }
  }

  /// How urgent the item is for one of its waiters.
  package func urgency(of waiter: Waiter) -> Urgency {
    Urgency(of: waiter, item: id, respectsRobots: key.request.fetch.respectsRobots)
  }
}

/// The work items, those that later requests may join by their keys, and the queues of those that a
/// worker may take without a slot.
package struct WorkTable {
  private var items = NumberedTable<WorkID, WorkItem>()
  private var openItems: [WorkItem.Subject: WorkID] = [:]
  private var lastNumber: UInt64 = 0
  /// Items that ask origins about what was served stale, for no request.
  package private(set) var revalidationCount = 0
  /// Items of viewers that wait for their look-up, and items that a dead worker held: before any
  /// list.
  private var lookups = PriorityQueue<WorkID, Urgency>()
  /// Items whose picture is at hand and waits for a decoder.
  private var decodes = PriorityQueue<WorkID, Urgency>()

  package var isEmpty: Bool { items.isEmpty }
  package var count: Int { items.count }
  package var all: [WorkItem] { Array(items.values) }
  package var openCount: Int { openItems.count }

  /// - Returns: `nil` when the item has ended.
  package subscript(id: WorkID) -> WorkItem? { items[id] }

  /// - Precondition: the item has not ended.
  func item(_ id: WorkID) -> WorkItem {
    guard let item = items[id] else { preconditionFailure("\(id) has ended") }
    return item
  }

  /// Reads an item in its place, so that it is not copied.
  ///
  /// - Precondition: the item has not ended.
  func read<Result>(_ id: WorkID, _ body: (borrowing WorkItem) -> Result) -> Result {
    guard let result = items.read(id, body) else { preconditionFailure("\(id) has ended") }
    return result
  }

  /// The item that requests for this join; `nil` when they begin one.
  func openItem(for subject: WorkItem.Subject) -> WorkID? { openItems[subject] }

  /// Whether later requests with the same key join the item.
  package func isOpen(_ item: WorkItem) -> Bool { openItems[item.subject] == item.id }

  /// The arrival tag of a job's line at an item; `nil` where none of its lines waits there.
  func arrivalTag(ofLineOf job: JobID, at id: WorkID) -> UInt64? {
    items.read(id) { $0.waiters.first { $0.isLine(of: job) }?.arrivalTag } ?? nil
  }

  // MARK: - Items

  /// Begins an item for the first that waits.
  ///
  /// - Precondition: no item is open for the key.
  mutating func add(_ subject: WorkItem.Subject, _ waiter: Waiter) -> WorkItem {
    lastNumber += 1
    let item = WorkItem(id: WorkID(rawValue: lastNumber), subject, waiter: waiter)
    items.set(item.id, to: item)
    let previous = openItems.updateValue(item.id, forKey: subject)
    precondition(previous == nil, "requests whose keys join share one item")
    if subject.key.isRevalidation { revalidationCount += 1 }
    return item
  }

  /// One more waits for an item.
  ///
  /// - Precondition: the item has not ended.
  /// - Returns: whether that makes it more urgent.
  mutating func join(_ waiter: Waiter, _ id: WorkID, defaultExpiry: Duration) -> Bool {
    change(id) { item in
      let urgency = item.urgency
      item.join(waiter, defaultExpiry: defaultExpiry)
      return item.urgency != urgency
    }
  }

  /// An item goes on to another stage.
  ///
  /// - Precondition: the item has not ended.
  /// - Returns: the stage that it leaves.
  mutating func move(
    _ id: WorkID, to stage: WorkItem.Stage, defaultExpiry: Duration
  ) -> WorkItem.Stage {
    change(id) { item in
      defer { item.enter(stage, defaultExpiry: defaultExpiry) }
      return item.stage
    }
  }

  /// Changes an item in place, so that its list of waiters is not copied.
  ///
  /// - Precondition: the item has not ended.
  @discardableResult
  mutating func change<Result>(_ id: WorkID, _ body: (inout WorkItem) -> Result) -> Result {
    items.change(id, body)
  }

  /// Later requests do not join the item.
  ///
  /// - Precondition: the item has not ended.
  mutating func close(_ id: WorkID) { close(item(id)) }

  private mutating func close(_ item: WorkItem) {
    guard let index = openItems.index(forKey: item.subject),
      openItems.values[index] == item.id
    else { return }
    openItems.remove(at: index)
  }

  /// Ends an item.
  ///
  /// - Precondition: the item has not ended.
  /// - Returns: the item.
  @discardableResult
  mutating func remove(_ id: WorkID) -> WorkItem {
    guard let item = items.remove(id) else { preconditionFailure("\(id) has ended") }
    close(item)
    if item.key.isRevalidation { revalidationCount -= 1 }
    lookups.remove(id)
    decodes.remove(id)
    return item
  }

  // MARK: - Queues

  /// Has the item looked up before any list, or changes its urgency there.
  ///
  /// - Precondition: the item has not ended.
  mutating func queueLookup(_ id: WorkID) { lookups.set(id, to: item(id).urgency) }

  /// Takes the most urgent item that waits for its look-up outside of the lists.
  mutating func takeLookup() -> WorkID? { lookups.removeFirst() }

  package var isAnyLookupQueued: Bool { !lookups.isEmpty }

  /// Has the item wait for a decoder, or changes its urgency there.
  ///
  /// - Precondition: the item has not ended.
  mutating func queueDecode(_ id: WorkID) { decodes.set(id, to: item(id).urgency) }

  /// How urgent the next item for a decoder is; `nil` when none waits.
  var nextDecodeUrgency: Urgency? { decodes.first?.priority }

  /// Takes the most urgent item that waits for a decoder.
  mutating func takeDecode() -> WorkItem? { decodes.removeFirst().flatMap { items[$0] } }
}
