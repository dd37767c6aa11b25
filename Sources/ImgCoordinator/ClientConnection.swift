import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire

/// One client: its connection and what it asked for that is not answered.
final class ClientConnection {
  /// What a client owes that takes no time.
  enum Debt: String {
    case greeting = "it did not greet"
    case request = "it did not send the rest of a request"
    case reading = "it did not read why it is closed"
  }

  let id: ClientID
  let channel: Channel<ClientMessage, CoordinatorReply>
  var pending = PendingRequests()
  /// The list that it sends; `nil` when it sends none.
  private(set) var submission: OpenSubmission?
  private(set) var hasGreeted = false
  /// Whether it is closed once everything is sent.
  private(set) var isClosing = false
  /// Whether it has closed its end. The poller no longer watches the socket, which would be ready at
  /// all times. What the client sent before is read as its requests are served.
  private(set) var isHungUp = false
  /// What the poller watches the socket for.
  private(set) var interest: Poller.Interest = .read

  init(id: ClientID, channel: Channel<ClientMessage, CoordinatorReply>) {
    self.id = id
    self.channel = channel
  }

  // MARK: - Changes

  /// - Parameter isSame: whether both ends speak the same protocol. Otherwise no request is served.
  func didGreet(inSameProtocol isSame: Bool) {
    hasGreeted = isSame
  }

  func beginClosing() {
    isClosing = true
  }

  func didHangUp() {
    isHungUp = true
  }

  /// - Returns: what the poller has to watch the socket for from now on; `nil` when that stays as it
  ///   is.
  func takeInterestChange() -> Poller.Interest? {
    let wanted = wantedInterest
    guard wanted != interest, !isHungUp else { return nil }
    interest = wanted
    return wanted
  }

  // MARK: - The list that is received

  func open(_ submission: OpenSubmission) {
    precondition(self.submission == nil, "one list at a time")
    self.submission = submission
  }

  func updateSubmission(_ update: (inout OpenSubmission) -> Void) {
    guard var changed = submission else { preconditionFailure("the client sends a list") }
    update(&changed)
    submission = changed
  }

  /// - Returns: the list that is received no longer; `nil` when there was none.
  func endSubmission() -> OpenSubmission? {
    submission.take()
  }

  // MARK: - What the state calls for

  /// Whether the client may be served: not before it has read the replies to its earlier requests,
  /// and not while the disk lags behind its list.
  private var isServed: Bool {
    !isClosing && !channel.hasUnsent && (submission?.takesParts ?? true)
  }

  /// Whether the client has a turn coming.
  var wantsTurn: Bool { isServed && (channel.hasMessage || isHungUp) }

  /// Whether the socket may be read: not before the requests that have arrived are served.
  var isRead: Bool { isServed && !channel.hasMessage && !isHungUp }

  private var wantedInterest: Poller.Interest {
    var interest: Poller.Interest = []
    if isRead { interest.insert(.read) }
    if channel.hasUnsent { interest.insert(.write) }
    return interest
  }

  /// Why the client is closed when it owes something for too long; `nil` when it owes nothing.
  var debt: Debt? {
    if isClosing { return .reading }
    guard isRead else { return nil }
    if !hasGreeted { return .greeting }
    return channel.isWithinMessage ? .request : nil
  }

  var account: ClientLedger.Account {
    ClientLedger.Account(
      heldByteCount: channel.heldByteCount, isOwing: debt != nil,
      isInUse: submission != nil || !pending.isEmpty || channel.hasUnsent || channel.hasMessage)
  }

  /// The refusal of a request that may not become pending; `nil` when it may.
  func refusalToWait(_ request: RequestID) -> CoordinatorReply? {
    pending.obstacle(to: request).map {
      .refused(request, RequestRefusal(code: .invalidRequest, message: $0))
    }
  }
}

/// A list that the coordinator receives from a client.
struct OpenSubmission {
  let request: RequestID
  let job: JobID
  /// Parts that were handed to the journal and are not durable yet.
  private(set) var unwrittenCount = 0
  /// Whether the last part has arrived.
  private(set) var isComplete = false

  /// Parts that may wait for the disk. With more, the client is not served.
  private static let unwrittenMaximum = 8

  init(request: RequestID, job: JobID) {
    self.request = request
    self.job = job
  }

  /// Whether the disk keeps up with the list.
  var takesParts: Bool { unwrittenCount < Self.unwrittenMaximum }

  mutating func partWasQueued() {
    unwrittenCount += 1
  }

  mutating func partWasWritten() {
    precondition(unwrittenCount > 0, "a part is written once")
    unwrittenCount -= 1
  }

  mutating func complete() {
    precondition(!isComplete, "a list ends once")
    isComplete = true
  }
}

/// The requests of one client whose answers come later: watched jobs, viewers and changes of jobs.
struct PendingRequests {
  /// A job that a client watches, and the status that it was sent last.
  struct Watch: Hashable {
    let request: RequestID
    let sent: ImageJob
  }

  /// Requests of one client that may be pending.
  static let maximumCount = 1_024

  private var watched: [RequestID: ImageJob] = [:]
  private var viewers: [RequestID: ViewerID] = [:]
  private var changes: Set<RequestID> = []

  var isEmpty: Bool { count == 0 }
  var hasWatches: Bool { !watched.isEmpty }
  private var count: Int { watched.count + viewers.count + changes.count }

  /// Why a request of this number may not become pending; `nil` when it may.
  func obstacle(to request: RequestID) -> String? {
    if watched[request] != nil || viewers[request] != nil || changes.contains(request) {
      return "a request of this number waits already"
    }
    return count < Self.maximumCount
      ? nil : "\(Self.maximumCount) requests of this client wait already"
  }

  private func requireNoObstacle(to request: RequestID) {
    precondition(obstacle(to: request) == nil, "the caller refuses what may not be pending")
  }

  // MARK: - Watched jobs

  var watches: [Watch] { watched.map { Watch(request: $0.key, sent: $0.value) } }

  mutating func addWatch(_ request: RequestID, sent status: ImageJob) {
    requireNoObstacle(to: request)
    watched[request] = status
  }

  /// The client was sent a newer status.
  mutating func updateWatch(_ request: RequestID, sent status: ImageJob) {
    precondition(watched[request]?.job == status.job, "a watch stays with its job")
    watched[request] = status
  }

  /// Ends a watch.
  ///
  /// - Returns: whether there was one.
  mutating func removeWatch(_ request: RequestID) -> Bool {
    watched.removeValue(forKey: request) != nil
  }

  /// Ends the watches of a job.
  ///
  /// - Returns: their requests.
  mutating func removeWatches(of job: JobID) -> [RequestID] {
    let ended = watched.filter { $0.value.job == job }.keys
    for request in ended { watched[request] = nil }
    return Array(ended)
  }

  // MARK: - Viewers

  var viewerIDs: [ViewerID] { Array(viewers.values) }

  /// The viewer of a request; `nil` if the request has ended.
  func viewer(of request: RequestID) -> ViewerID? { viewers[request] }

  mutating func addViewer(_ viewer: ViewerID, for request: RequestID) {
    requireNoObstacle(to: request)
    viewers[request] = viewer
  }

  mutating func removeViewer(for request: RequestID) {
    let removed = viewers.removeValue(forKey: request)
    precondition(removed != nil, "a viewer is removed once")
  }

  // MARK: - Changes of jobs

  mutating func addChange(_ request: RequestID) {
    requireNoObstacle(to: request)
    changes.insert(request)
  }

  mutating func removeChange(_ request: RequestID) {
    let removed = changes.remove(request)
    precondition(removed != nil, "a change ends once")
  }
}
