import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgWire

/// The clients that are connected: admitted, read in turn, sent replies, closed.
///
/// It knows nothing of what requests mean. What a closed client leaves behind is taken by
/// ``takeClosed()``.
final class ClientTable {
  private var clients: [ClientID: ClientConnection] = [:]
  private var lastNumber: UInt64 = 0
  private var ledger: ClientLedger
  /// The clients whose requests have arrived and are not served.
  private var turns = TurnQueue<ClientID>()
  /// The clients with replies that ``flush()`` sends.
  private var unflushed = TurnQueue<ClientID>()
  private var closed: [ClientConnection] = []
  private let poller: Poller
  private let log: Log
  private let timeout: Duration

  init(limits: Limits, poller: Poller, log: Log) {
    timeout = limits.clientTimeout
    ledger = ClientLedger(clientMaximum: limits.clients, timeout: timeout)
    self.poller = poller
    self.log = log
  }

  subscript(id: ClientID) -> ClientConnection? { clients[id] }

  var all: some Collection<ClientConnection> { clients.values }

  var isEmpty: Bool { clients.isEmpty }

  /// Whether a client waits for its turn.
  var hasTurns: Bool { !turns.isEmpty }

  // MARK: - Admission

  /// Takes a connection that was accepted, unless its user or the number of clients forbids it.
  func admit(_ connection: consuming AcceptedConnection) throws(SystemError) {
    let userID = connection.credentials.userID
    lastNumber += 1
    let client = ClientConnection(
      id: ClientID(rawValue: lastNumber), channel: try Channel(connection.takeDescriptor()))
    if userID != ThisProcess.userID, userID != 0 {
      return turnAway(
        client, .notPermitted, "this coordinator serves user \(ThisProcess.userID) alone")
    }
    guard makeRoom(for: client) else { return }
    try poller.register(
      client.channel.descriptor, client.interest, token: Token.client(client.id).rawValue)
    clients[client.id] = client
    advance(client)
  }

  /// - Returns: whether there is room for one more client.
  private func makeRoom(for client: ClientConnection) -> Bool {
    switch ledger.admission(at: .now) {
    case .admitted:
      return true
    case .replacing(let idle):
      if let idle = clients[idle] {
        expel(
          idle, .unavailable,
          "it was idle, and another client needs its place; connect again, or allow more than "
            + "\(ledger.clientMaximum) clients: imgctl start --clients N")
      }
      return true
    case .full:
      turnAway(
        client, .unavailable,
        "\(ledger.clientMaximum) clients are connected already; close some, or allow more: "
          + "imgctl stop, then imgctl start --clients N")
      return false
    }
  }

  /// Refuses a connection that never becomes a client. It closes with its object.
  private func turnAway(
    _ connection: ClientConnection, _ code: Failure.Code, _ message: String
  ) {
    log.note("client \(connection.id) is dismissed: \(message)")
    // A new socket has room for the reason. A peer that has closed it already needs none.
    try? connection.channel.send(.ofConnection(code, message))
  }

  // MARK: - Reading

  /// Bytes read at once from one client. Fewer while all clients together hold much memory, so that
  /// requests are served no slower than others arrive.
  private var readByteCount: Int { ledger.isTight ? 16 << 10 : 64 << 10 }

  func isReady(_ id: ClientID, _ readiness: Poller.Readiness) {
    guard let client = clients[id] else { return }
    do throws(ChannelError) {
      // Replies to a client that has hung up are an error, which closes it.
      if readiness.isWritable || readiness.isHungUp { try client.channel.flush() }
      if readiness.isHungUp {
        client.didHangUp()
        poller.unregister(client.channel.descriptor)
      } else if readiness.isReadable, client.isRead {
        if try client.channel.read(upTo: readByteCount) == .closed { return close(client) }
      }
      advance(client)
    } catch {
      disconnect(client, after: error)
    }
  }

  /// Hands the next request of the client whose turn it is to `handle`.
  ///
  /// - Returns: whether a client had its turn.
  func serveNext(
    _ handle: (Delivery<ClientMessage>, ClientConnection) -> Void
  ) -> Bool {
    guard let id = turns.removeFirst() else { return false }
    guard let client = clients[id], client.wantsTurn else { return true }
    do throws(ChannelError) {
      if let delivery = try client.channel.takeMessage() {
        handle(delivery, client)
      } else if try client.channel.read(upTo: readByteCount) != .bytes {
        // Only a client that has hung up has a turn without a request.
        close(client)
      }
      advance(client)
    } catch {
      disconnect(client, after: error)
    }
    return true
  }

  // MARK: - Replies

  /// Sends a reply with the next ``flush()``. A client that cannot take it is closed.
  func send(
    _ reply: CoordinatorReply, with file: PassedFile? = nil, to client: ClientConnection
  ) {
    do throws(ChannelError) {
      try client.channel.post(reply, with: file)
      unflushed.append(client.id)
    } catch {
      disconnect(client, after: error)
    }
  }

  /// Whether a client leaves replies unread. Those that wait for ``flush()`` do not count.
  func isBehind(_ client: ClientConnection) -> Bool {
    client.channel.hasUnsent && !unflushed.contains(client.id)
  }

  /// Hands the kernel the replies since the last call: one system call and one wake-up for all that a
  /// client gets.
  func flush() {
    while let id = unflushed.removeFirst() {
      guard let client = clients[id] else { continue }
      do throws(ChannelError) {
        try client.channel.flush()
        advance(client)
      } catch {
        disconnect(client, after: error)
      }
    }
  }

  func refuse(
    _ request: RequestID, of client: ClientConnection, _ code: Failure.Code,
    _ message: String
  ) {
    send(.refused(request, RequestRefusal(code: code, message: message)), to: client)
  }

  /// Sends the reason, and closes the client once it has read that.
  func dismiss(_ client: ClientConnection, _ code: Failure.Code, _ message: String) {
    log.note("client \(client.id.rawValue) is dismissed: \(message)")
    client.beginClosing()
    send(.ofConnection(code, message), to: client)
  }

  /// Does what the client's state calls for. Closes a client that is closing once nothing is unsent,
  /// gives it a turn once a request has arrived, and watches its socket for what comes next.
  func advance(_ client: ClientConnection) {
    // What is about to be sent may change all that.
    guard clients[client.id] != nil, !unflushed.contains(client.id) else { return }
    if client.isClosing, !client.channel.hasUnsent { return close(client) }
    if client.wantsTurn { turns.append(client.id) }
    ledger.update(client.id, client.account, at: .now)
    guard let interest = client.takeInterestChange() else { return }
    // The descriptor is registered and open: a failure to change its events would be a bug here.
    try? poller.update(
      client.channel.descriptor, interest, token: Token.client(client.id).rawValue)
  }

  /// Waits until all clients have taken their replies, up to the deadline.
  func flush(until deadline: ContinuousClock.Instant) {
    for client in clients.values { try? client.channel.flush(until: deadline) }
  }

  // MARK: - Closing

  /// When a client may have owed something for too long; `nil` when none owes anything.
  var deadline: Instant? { ledger.deadline }

  /// Closes the clients that have owed the rest of a request for too long.
  func closeOverdue(at now: Instant) {
    for id in ledger.overdue(at: now) {
      guard let client = clients[id], let debt = client.debt else { continue }
      expel(
        client, .invalidRequest, "\(debt.rawValue) within \(timeout.text)")
    }
  }

  /// Closes clients until all of them together hold no more memory than they may.
  func closeHeaviest() {
    while let id = ledger.heaviest, let client = clients[id] {
      expel(
        client, .unavailable,
        "all clients together hold too much memory for unread replies and half-sent requests, and "
          + "this one holds most: \(client.channel.heldByteCount >> 10) KiB; read each reply before "
          + "the next request")
    }
  }

  /// The clients that were closed since the last call.
  func takeClosed() -> [ClientConnection] {
    defer { closed = [] }
    return closed
  }

  /// Closes a client after an error. A client that broke the protocol is sent the reason.
  private func disconnect(_ client: ClientConnection, after error: ChannelError) {
    guard clients[client.id] != nil else { return }
    switch error {
    case .framing, .message, .passedFile:
      expel(client, .invalidRequest, error.description)
    case .peerDoesNotRead:
      log.note("client \(client.id.rawValue) is closed: \(error)")
      close(client)
    case .closed, .timedOut, .system:
      close(client)
    }
  }

  /// Closes a client at once. It receives the reason if its socket has room for that.
  private func expel(
    _ client: ClientConnection, _ code: Failure.Code, _ reason: String
  ) {
    log.note("client \(client.id.rawValue) is closed: \(reason)")
    try? client.channel.send(.ofConnection(code, reason))
    close(client)
  }

  private func close(_ client: ClientConnection) {
    guard clients.removeValue(forKey: client.id) != nil else { return }
    ledger.remove(client.id)
    poller.unregister(client.channel.descriptor)
    closed.append(client)
  }
}

extension CoordinatorReply {
  /// Why a whole connection ends.
  fileprivate static func ofConnection(_ code: Failure.Code, _ message: String) -> Self {
    .refused(RequestRefusal.wholeConnection, RequestRefusal(code: code, message: message))
  }
}

/// The number of a client's connection. Numbers are not reused.
typealias ClientID = Identifier<IdentifierKind.Client>

extension IdentifierKind {
  enum Client {}
}

/// A client's request whose answer comes later.
struct Requester: Hashable {
  let client: ClientID
  let request: RequestID
}

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

/// The control socket: accepts clients, and is created again when its file is removed. The end of a
/// login session, for one, removes the whole runtime directory of its user.
final class ControlListener {
  private let path: String
  private let clients: ClientTable
  private let poller: Poller
  private let log: Log
  private var listener: UnixListener
  /// When clients are accepted again after that failed; `nil` while they are.
  private var resumesAt: Instant?
  /// Without the file no client can connect. A check is one system call.
  private var check: IntervalTimer
  /// Why the file cannot be created again; `nil` while it is in its place.
  private var lastError: String?

  /// Connections taken in one round of the loop.
  private static let acceptMaximum = 64
  private static let pause = Duration.seconds(1)

  init(
    _ listener: consuming UnixListener, at path: String, clients: ClientTable, poller: Poller,
    log: Log
  ) throws(SystemError) {
    self.path = path
    self.clients = clients
    self.poller = poller
    self.log = log
    self.listener = listener
    check = IntervalTimer(every: .seconds(1), from: .now)
    try poller.register(self.listener.descriptor, .read, token: Token.listener.rawValue)
  }

  /// When ``doWhatIsDue(at:)`` has something to do.
  var deadline: Instant {
    resumesAt.map { min($0, check.deadline) } ?? check.deadline
  }

  func doWhatIsDue(at now: Instant) {
    if let resumesAt, resumesAt <= now { resume() }
    if check.fires(at: now) { restore() }
  }

  func acceptClients() {
    do throws(SystemError) {
      for _ in 0..<Self.acceptMaximum {
        guard let connection = try listener.accept() else { return }
        try clients.admit(connection)
      }
    } catch {
      // Mostly because no descriptor is free. The listener stays readable, so the loop ignores it
      // for a while.
      log.note("clients cannot be accepted for a second: \(error)")
      watch([])
      resumesAt = .now + Self.pause
    }
  }

  private func resume() {
    resumesAt = nil
    watch(.read)
  }

  private func watch(_ interest: Poller.Interest) {
    // The descriptor is registered and open: a failure to change its events would be a bug here.
    try? poller.update(listener.descriptor, interest, token: Token.listener.rawValue)
  }

  /// Creates the socket again, with its directory, when its file has gone. While another coordinator
  /// listens in its place, the next check tries again.
  private func restore() {
    guard !listener.isNamed else { return }
    do {
      let successor = try ControlSocket.listen(at: path)
      // Those that connected while the file was still there.
      acceptClients()
      try poller.register(successor.descriptor, .read, token: Token.listener.rawValue)
      poller.unregister(listener.descriptor)
      listener = successor
      resumesAt = nil
      lastError = nil
      log.note("the control socket \(path) had been removed; it is there again")
    } catch {
      let reason = String(describing: error)
      if lastError != reason {
        log.note("the control socket had been removed, and no client can connect: \(reason)")
      }
      lastError = reason
    }
  }
}
