import ImgModel
import ImgScheduler

/// What each client of the coordinator costs, and which client has to go when all of them together
/// cost too much.
///
/// Pure: ``ClientTable`` reports the state of a connection after each change and closes the clients
/// that the ledger names.
struct ClientLedger {
  /// A connection at one moment.
  struct Account: Hashable, Sendable {
    /// Memory for replies that the client has not read and for requests that are not served.
    let heldByteCount: Int
    /// Whether the client owes what takes no time: its greeting, the rest of a request, or to read
    /// the reason for which the connection ends.
    let isOwing: Bool
    /// Whether the client waits for a reply, or the coordinator for the rest of a list.
    let isInUse: Bool
  }

  /// Whether one more client may connect.
  enum Admission: Hashable, Sendable {
    case admitted
    /// Once this client, the one that has been idle for longest, is closed.
    case replacing(ClientID)
    case full
  }

  /// Memory for the unread replies and the unserved requests of all clients together.
  static let defaultByteCountMaximum = 64 << 20

  /// How many clients may be connected.
  let clientMaximum: Int
  /// How long a client may owe the rest of a request, and after how long an idle client may have to
  /// make room for another.
  let timeout: Duration
  private let byteCountMaximum: Int

  private var heldByteCounts: [ClientID: Int] = [:]
  /// Since when a client owes something.
  private var owing: [ClientID: Instant] = [:]
  /// Since when a client is idle.
  private var idle: [ClientID: Instant] = [:]
  private(set) var heldByteCount = 0

  init(
    clientMaximum: Int, timeout: Duration, byteCountMaximum: Int = defaultByteCountMaximum
  ) {
    self.clientMaximum = clientMaximum
    self.timeout = timeout
    self.byteCountMaximum = byteCountMaximum
  }

  func admission(at now: Instant) -> Admission {
    guard heldByteCounts.count >= clientMaximum else { return .admitted }
    let longest = idle.min { ($0.value, $0.key) < ($1.value, $1.key) }
    guard let longest, longest.value + timeout <= now else { return .full }
    return .replacing(longest.key)
  }

  /// Notes the state of a client, of one that has just connected too. A client that still owes what
  /// it owed before gets no more time for that.
  mutating func update(
    _ client: ClientID, _ account: Account, at now: Instant
  ) {
    heldByteCount += account.heldByteCount - (heldByteCounts[client] ?? 0)
    heldByteCounts[client] = account.heldByteCount
    owing[client] = account.isOwing ? owing[client] ?? now : nil
    idle[client] = account.isOwing || account.isInUse ? nil : now
  }

  mutating func remove(_ client: ClientID) {
    heldByteCount -= heldByteCounts.removeValue(forKey: client) ?? 0
    owing[client] = nil
    idle[client] = nil
  }

  // MARK: - Clients to close

  /// When ``overdue(at:)`` may name a client.
  var deadline: Instant? { owing.values.min().map { $0 + timeout } }

  /// The clients that have owed something for too long.
  func overdue(at now: Instant) -> [ClientID] {
    owing.filter { $0.value + timeout <= now }.keys.sorted()
  }

  /// Whether so much is held that less should be read at once from each client.
  var isTight: Bool { heldByteCount > byteCountMaximum / 2 }

  /// The client that holds the most memory, when all together hold more than they may.
  var heaviest: ClientID? {
    guard heldByteCount > byteCountMaximum else { return nil }
    return heldByteCounts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
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
