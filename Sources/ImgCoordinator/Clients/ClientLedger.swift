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
    case replacing(UInt32)
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

  private var heldByteCounts: [UInt32: Int] = [:]
  /// Since when a client owes something.
  private var owing: [UInt32: ContinuousClock.Instant] = [:]
  /// Since when a client is idle.
  private var idle: [UInt32: ContinuousClock.Instant] = [:]
  private(set) var heldByteCount = 0

  init(
    clientMaximum: Int, timeout: Duration, byteCountMaximum: Int = defaultByteCountMaximum
  ) {
    self.clientMaximum = clientMaximum
    self.timeout = timeout
    self.byteCountMaximum = byteCountMaximum
  }

  func admission(at now: ContinuousClock.Instant) -> Admission {
    guard heldByteCounts.count >= clientMaximum else { return .admitted }
    let longest = idle.min { ($0.value, $0.key) < ($1.value, $1.key) }
    guard let longest, longest.value + timeout <= now else { return .full }
    return .replacing(longest.key)
  }

  /// Notes the state of a client, of one that has just connected too. A client that still owes what
  /// it owed before gets no more time for that.
  mutating func update(
    _ client: UInt32, _ account: Account, at now: ContinuousClock.Instant
  ) {
    heldByteCount += account.heldByteCount - (heldByteCounts[client] ?? 0)
    heldByteCounts[client] = account.heldByteCount
    owing[client] = account.isOwing ? owing[client] ?? now : nil
    idle[client] = account.isOwing || account.isInUse ? nil : now
  }

  mutating func remove(_ client: UInt32) {
    heldByteCount -= heldByteCounts.removeValue(forKey: client) ?? 0
    owing[client] = nil
    idle[client] = nil
  }

  // MARK: - Clients to close

  /// When ``overdue(at:)`` may name a client.
  var deadline: ContinuousClock.Instant? { owing.values.min().map { $0 + timeout } }

  /// The clients that have owed something for too long.
  func overdue(at now: ContinuousClock.Instant) -> [UInt32] {
    owing.filter { $0.value + timeout <= now }.keys.sorted()
  }

  /// Whether so much is held that less should be read at once from each client.
  var isTight: Bool { heldByteCount > byteCountMaximum / 2 }

  /// The client that holds the most memory, when all together hold more than they may.
  var heaviest: UInt32? {
    guard heldByteCount > byteCountMaximum else { return nil }
    return heldByteCounts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }
}
